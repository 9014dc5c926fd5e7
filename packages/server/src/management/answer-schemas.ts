/**
 * Answer schemas of the management API, for its OpenAPI document: what the resources show. A schema
 * with a title becomes a component there. The tests hold every answer to them.
 */

import { DEVICE_SCHEMAS } from "../data-api/device-schemas.ts";
import { SCHEMAS } from "../data-api/schemas.ts";
import { JWT_ALGORITHMS } from "../registry/auth-provider.ts";
import { CHANGE_TYPES } from "../registry/destination.ts";
import { AnyValue, type TSchema, Type } from "../validation/schema.ts";
import { STATUS_OF_TITLE } from "./problem.ts";
import { serverAnswerSchemas } from "./server-answer-schemas.ts";

const COUNT = Type.Integer({ minimum: 0, format: "int64" });
const TIME = Type.String({ description: "A time of RFC 3339, in UTC." });
const ANY_OBJECT = Type.Unsafe<object>({ type: "object", additionalProperties: true });

const AccessRule = Type.Object(
  {
    everything: Type.Boolean(),
    queriesByCollection: Type.Record(Type.String(), Type.Array(Type.String())),
  },
  { title: "AccessRule" },
);

const Permissions = Type.Object(
  { remoteQuery: Type.Boolean(), read: AccessRule, write: AccessRule },
  { title: "Permissions" },
);

const AuthProvider = Type.Union(
  [
    Type.Object(
      {
        type: Type.Literal("anonymous"),
        permission: Permissions,
        sessionLength: Type.Integer({ description: "In seconds." }),
        loopbackOnly: Type.Boolean(),
      },
      { title: "AnonymousProvider" },
    ),
    Type.Object(
      { type: Type.Literal("tokenWebhook"), webhookUrl: Type.String() },
      { title: "TokenWebhookProvider" },
    ),
    Type.Object(
      {
        type: Type.Literal("jwt"),
        jwks: Type.Optional(ANY_OBJECT),
        jwksUrl: Type.Optional(Type.String()),
        issuer: Type.Optional(Type.String()),
        audience: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
        algorithms: Type.Optional(Type.Array(Type.Enum([...JWT_ALGORITHMS]))),
        clockTolerance: Type.Optional(Type.Integer({ description: "In seconds." })),
        permission: Type.Optional(Permissions),
      },
      { title: "JwtProvider" },
    ),
  ],
  {
    title: "AuthProvider",
    description: "Without its secrets.",
    discriminator: { propertyName: "type" },
  },
);

const App = Type.Object(
  {
    name: Type.String(),
    appId: Type.String({ description: "A UUID." }),
    authProviders: Type.Record(Type.String(), AuthProvider),
  },
  { title: "App" },
);

const AppSummary = Type.Object(
  { name: Type.String(), appId: Type.String() },
  { title: "AppSummary", description: "An app without its auth providers." },
);

const DeletedApp = Type.Object(
  {
    name: Type.String(),
    appId: Type.String(),
    deletedAt: TIME,
    removedAfter: Type.String({ description: "From this time on its data may be removed." }),
  },
  { title: "DeletedApp" },
);

const ApiKey = Type.Object(
  {
    name: Type.String(),
    description: orNull(Type.String()),
    permissions: Permissions,
    expiresAt: orNull(TIME),
    createdAt: TIME,
    lastUsedAt: orNull(TIME),
  },
  { title: "ApiKey", description: "Without its text, which is shown once." },
);

const Provider = Type.Object({ name: Type.String(), config: AuthProvider }, { title: "Provider" });

const Replication = Type.Object(
  {
    name: Type.String(),
    connections: Type.Array(Type.String()),
    queriesByCollection: Type.Record(Type.String(), Type.Array(Type.String())),
    attachments: Type.Optional(Type.Enum(["onDemand", "eager"])),
  },
  { title: "Replication" },
);

const LinkError = Type.Object(
  { code: Type.String(), message: Type.String(), at: TIME },
  { title: "LinkError" },
);

const LinkSubscription = Type.Object(
  {
    collection: Type.String(),
    query: Type.String(),
    state: Type.Enum(["waiting", "filling", "live", "behind", "held"]),
    transaction: COUNT,
  },
  { title: "LinkSubscription" },
);

const Link = Type.Object(
  {
    direction: Type.Enum(["dial", "accept"]),
    address: Type.String(),
    state: Type.Enum(["waiting", "connecting", "linked", "duplicate", "refused", "no_secret"]),
    since: TIME,
    partner: orNull(Type.String()),
    nextAttemptAt: orNull(TIME),
    lastError: orNull(LinkError),
    lag: Type.Object({ transactions: orNull(COUNT), seconds: orNull(Type.Number()) }),
    pulled: Type.Object({
      documents: COUNT,
      bytes: COUNT,
      transactions: COUNT,
      unchanged: COUNT,
      stale: COUNT,
    }),
    served: Type.Object({ documents: COUNT, bytes: COUNT }),
    subscriptions: Type.Array(LinkSubscription),
  },
  { title: "Link" },
);

const ReplicationStatus = Type.Object(
  { name: Type.String(), missingAttachments: orNull(COUNT), links: Type.Array(Link) },
  { title: "ReplicationStatus" },
);

const SELECTION = {
  name: Type.String(),
  collection: Type.String(),
  query: orNull(Type.String()),
  events: Type.Array(Type.Enum([...CHANGE_TYPES])),
  isPaused: Type.Boolean({ description: "Whether an operator has paused it." }),
};

const WEBHOOK = { ...SELECTION, url: Type.String(), allowPrivate: Type.Boolean() };

const Webhook = Type.Object(WEBHOOK, { title: "Webhook", description: "Without its secret." });

const Sink = Type.Object(
  {
    ...SELECTION,
    servers: Type.Array(Type.String()),
    subject: Type.String(),
    user: orNull(Type.String()),
  },
  { title: "Sink", description: "Without its password and token." },
);

const DeliveryStatus = Type.Object(
  {
    name: Type.String(),
    state: Type.Enum(["starting", "live", "delivering", "retrying", "paused"]),
    reason: orNull(
      Type.Enum(["operator", "history_changed", "log_trimmed", "gone", "dead_letters_full"]),
    ),
    pausedAt: orNull(TIME),
    cursor: Type.String({ description: "Everything up to here was delivered." }),
    lag: Type.Object({ transactions: orNull(COUNT), seconds: Type.Number() }),
    attempts: COUNT,
    nextAttemptAt: orNull(TIME),
    lastDeliveryAt: orNull(TIME),
    lastError: orNull(
      Type.Object({ message: Type.String(), status: orNull(Type.Integer()), at: TIME }),
    ),
    delivered: Type.Object({ changes: COUNT, deliveries: COUNT }),
    failures: COUNT,
    deadLetters: COUNT,
  },
  {
    title: "DeliveryStatus",
    description: "The counts of deliveries and failures begin with each start of the server.",
  },
);

const DEAD_LETTER = {
  id: Type.String(),
  at: TIME,
  attempts: COUNT,
  error: Type.String({ description: "Why the last attempt failed." }),
  messageId: Type.String({ description: "The id with which it was sent." }),
  changes: COUNT,
};

const DeadLetter = Type.Object(DEAD_LETTER, { title: "DeadLetter" });

const Resent = Type.Object(
  { delivered: COUNT, left: COUNT, error: orNull(Type.String()) },
  { title: "Resent", description: "Ends at the first dead letter that fails again." },
);

const AuditEntry = Type.Object(
  {
    at: TIME,
    actor: Type.String(),
    action: Type.String(),
    target: Type.String(),
    detail: AnyValue,
    requestId: orNull(Type.String()),
    address: orNull(Type.String()),
  },
  { title: "AuditEntry" },
);

const ClusterStore = Type.Object(
  {
    store: Type.String(),
    role: Type.String(),
    evaluator: Type.String(),
    epoch: COUNT,
    sequence: COUNT,
    transactionId: COUNT,
  },
  { title: "ClusterStore" },
);

const ClusterNode = Type.Object(
  {
    node: Type.String(),
    url: Type.String(),
    version: Type.String(),
    entryFormat: Type.Optional(Type.Integer()),
    isAlive: Type.Boolean(),
    heardMs: Type.Number({ minimum: 0 }),
    ageSeconds: Type.Optional(Type.Number()),
    stores: Type.Optional(Type.Array(ClusterStore)),
  },
  { title: "ClusterNode", description: "A node that does not answer has no stores here." },
);

const PageMeta = Type.Object(
  { page: COUNT, size: COUNT, totalPages: COUNT },
  { title: "PageMeta", description: "Pages count from 1." },
);

const Problem = Type.Object(
  {
    title: Type.Enum(Object.keys(STATUS_OF_TITLE), { description: "For programs." }),
    detail: Type.String({ description: "For people." }),
  },
  { title: "Problem" },
);

/** Schemas of the data API for its operations that this API has as well. */
const DATA_TITLES: ReadonlySet<unknown> = new Set([
  "FindByIdRequest",
  "FindByIdResponse",
  "QueryResponse",
  "RemoteExecuteRequest",
  "RemoteExecuteResponse",
  "RpcError",
  "SyncExplainResponse",
  "SyncPeersResponse",
  "UploadedAttachment",
]);

const DATA_SCHEMAS = [...SCHEMAS, ...DEVICE_SCHEMAS].filter((schema) => {
  return "title" in schema && DATA_TITLES.has(schema.title);
});

export const ANSWER_SCHEMAS: readonly TSchema[] = [
  ...DATA_SCHEMAS,
  App,
  listOf("AppList", AppSummary),
  listOf("DeletedAppList", DeletedApp),
  ApiKey,
  listOf("ApiKeyList", ApiKey),
  Provider,
  listOf("ProviderList", Provider),
  Replication,
  listOf("ReplicationList", Replication),
  ReplicationStatus,
  Webhook,
  Type.Object({ ...WEBHOOK, secret: Type.String() }, { title: "CreatedWebhook" }),
  listOf("WebhookList", Webhook),
  Sink,
  listOf("SinkList", Sink),
  DeliveryStatus,
  listOf("DeadLetterList", DeadLetter),
  Type.Object({ ...DEAD_LETTER, payload: AnyValue }, { title: "WholeDeadLetter" }),
  Resent,
  listOf("AuditEntryList", AuditEntry),
  ...serverAnswerSchemas(listOf),
  Type.Object(
    { cluster: orNull(Type.String()), nodes: Type.Array(ClusterNode) },
    { title: "ClusterStatus" },
  ),
  Type.String({
    title: "ApiKeyText",
    description: "The text of an API key. It is shown once: the server keeps a hash.",
  }),
  Type.String({ title: "WebhookSecret", description: "128 bytes in base64. It is shown once." }),
  Type.Null({ title: "Done", description: "The change was made." }),
  Problem,
];

function orNull<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()]);
}

function listOf(title: string, entry: TSchema, more: Record<string, TSchema> = {}): TSchema {
  return Type.Object({ ...more, data: Type.Array(entry), meta: PageMeta }, { title });
}
