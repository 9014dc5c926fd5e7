/**
 * Server answer schemas: what the management API shows of the running server and for the console, for
 * its OpenAPI document.
 */

import { RECENT_SERIES } from "../observability/recent-stats.ts";
import { type TSchema, Type } from "../validation/schema.ts";

const COUNT = Type.Integer({ minimum: 0, format: "int64" });
const TIME = Type.String({ description: "A time of RFC 3339, in UTC." });
const ANY_OBJECT = Type.Unsafe<object>({ type: "object", additionalProperties: true });
const TOKENS = ["console token", "admin token"];

const Session = Type.Union(
  [
    Type.Object({ isSignedIn: Type.Literal(false) }, { title: "SignedOut" }),
    Type.Object(
      {
        isSignedIn: Type.Literal(true),
        by: Type.Enum([...TOKENS]),
        expiresAt: TIME,
        namespace: Type.String(),
        name: Type.String(),
        prefix: Type.String({ description: "How the paths of the API begin." }),
        version: Type.String({ description: "Version of the server." }),
        dataUrl: orNull(Type.String()),
      },
      { title: "SignedIn" },
    ),
  ],
  { title: "Session", description: "Whether the browser is signed in to the console." },
);

const ConsoleSession = Type.Object(
  {
    id: Type.String({ description: "Names the session; it does not open it." }),
    by: Type.Enum([...TOKENS]),
    createdAt: TIME,
    expiresAt: TIME,
    address: Type.String(),
    isCurrent: Type.Boolean({ description: "Whether it is that of the request." }),
  },
  { title: "ConsoleSession" },
);

const OverviewApp = Type.Object(
  {
    name: Type.String(),
    appId: Type.String(),
    documents: orNull(COUNT),
    bytes: COUNT,
    peers: COUNT,
  },
  { title: "OverviewApp", description: "`documents` is null until the app was counted." },
);

const RecentStats = Type.Object(
  Object.fromEntries(RECENT_SERIES.map((name) => [name, Type.Number()])),
  { title: "RecentStats", description: "Of the last few seconds." },
);

const Series = Type.Object(
  {
    stepSeconds: Type.Number(),
    at: Type.Array(Type.Number(), { description: "Milliseconds since 1970, oldest first." }),
    ...Object.fromEntries(RECENT_SERIES.map((name) => [name, Type.Array(Type.Number())])),
  },
  { title: "Series", description: "A number of each series for each time in `at`." },
);

const LoggedError = Type.Object(
  { at: TIME, level: Type.Enum(["warn", "error"]), message: Type.String() },
  { title: "LoggedError" },
);

const Overview = Type.Object(
  {
    version: Type.String(),
    startedAt: TIME,
    apps: Type.Object({ count: COUNT, shown: Type.Array(OverviewApp) }),
    documents: COUNT,
    disk: Type.Object({ freeBytes: COUNT, totalBytes: COUNT, dataBytes: COUNT }),
    peers: COUNT,
    now: orNull(RecentStats),
    lastBackupAt: orNull(TIME),
    lastErrors: Type.Array(LoggedError, { description: "Newest first." }),
    series: Series,
  },
  { title: "Overview" },
);

const IndexUse = Type.Object(
  {
    count: Type.Integer({
      description: "Statements, and lookups for subscriptions, that read the index.",
      minimum: 0,
      format: "int64",
    }),
    lastAt: orNull(TIME),
    since: Type.String({ description: "When the count began: usually the start of the server." }),
  },
  { title: "IndexUse", description: "Null when it is not known." },
);

const CollectionIndex = Type.Object(
  {
    name: Type.String(),
    fields: Type.Array(
      Type.Object({ path: Type.Array(Type.String()), isDescending: Type.Boolean() }),
    ),
    state: Type.Enum(["complete", "building"]),
    progress: orNull(Type.Object({ done: COUNT, total: COUNT })),
    use: orNull(IndexUse),
  },
  { title: "CollectionIndex" },
);

const Collection = Type.Object(
  {
    name: Type.String(),
    documents: COUNT,
    bytes: Type.Integer({ description: "Size of the documents, without indexes.", minimum: 0 }),
    isEstimated: Type.Boolean({
      description: "Whether `bytes` is estimated from the first and the last 25 documents.",
    }),
    indexes: Type.Array(CollectionIndex),
  },
  { title: "Collection" },
);

const VisibleCount = Type.Object(
  {
    collection: Type.String(),
    visible: orNull(COUNT),
    total: COUNT,
    error: Type.Optional(Type.String({ description: "Why `visible` is null." })),
  },
  { title: "VisibleCount" },
);

const ProviderVerdict = Type.Union(
  [
    Type.Object(
      {
        isValid: Type.Literal(true),
        userId: orNull(Type.String()),
        permissions: ANY_OBJECT,
        identity: orNull(ANY_OBJECT),
        expiresAt: TIME,
      },
      { title: "ValidToken" },
    ),
    Type.Object({ isValid: Type.Literal(false), reason: Type.String() }, { title: "InvalidToken" }),
  ],
  { title: "ProviderVerdict" },
);

const ReadSetting = Type.Object(
  {
    name: Type.String(),
    value: orNull(Type.String({ description: "null for none, and for a secret." })),
    source: Type.Enum(["default", "option", "environment", "file"]),
    description: Type.String(),
    isSecret: Type.Boolean(),
    isSet: Type.Boolean(),
  },
  { title: "ReadSetting" },
);

const HealthReport = Type.Object(
  {
    status: Type.Enum(["starting", "ready", "closing"]),
    isOk: Type.Boolean({ description: "Whether all checks are." }),
    checks: Type.Array(
      Type.Object({ name: Type.String(), isOk: Type.Boolean(), detail: Type.String() }),
    ),
  },
  { title: "HealthReport" },
);

const Backup = Type.Object(
  { name: Type.String(), createdAt: TIME, bytes: COUNT, verifiedAt: TIME },
  { title: "Backup" },
);

const BackupVerdict = Type.Object(
  { isValid: Type.Boolean(), problems: Type.Array(Type.String()) },
  { title: "BackupVerdict" },
);

/** `listOf` makes the schema of a list with pages. */
export function serverAnswerSchemas(
  listOf: (title: string, entry: TSchema, more?: Record<string, TSchema>) => TSchema,
): readonly TSchema[] {
  return [
    Session,
    listOf("ConsoleSessionList", ConsoleSession),
    Type.Object(
      { consoleUrl: Type.String({ description: "The token is in the fragment." }) },
      { title: "ConsoleLink" },
    ),
    Overview,
    listOf("CollectionList", Collection),
    Type.Object({ collections: Type.Array(VisibleCount) }, { title: "VisibleCounts" }),
    ProviderVerdict,
    listOf("ReadSettingList", ReadSetting),
    HealthReport,
    Backup,
    listOf("BackupList", Backup, {
      folder: Type.String(),
      isScheduled: Type.Boolean(),
      running: orNull(Type.Object({ startedAt: TIME })),
    }),
    BackupVerdict,
  ];
}

function orNull<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}
