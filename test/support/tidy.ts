/**
 * The rules of the code that no linter knows: each function takes files and returns its complaints
 * as `file:line: message`.
 *
 * The import directions are linted too (.oxlintrc.json, which shows them in an editor); here they are
 * complete, with dynamic imports and third-party code.
 */
import {
  findComments,
  findIdentifiers,
  findImports,
  isSource,
  isTest,
  lineAt,
  packageOf,
  resolveImport,
  type SourceFile,
} from "./repository.ts";

/** Which packages of ours a package may import. */
const ARROWS: Record<string, readonly string[]> = {
  protocol: [],
  engine: ["protocol"],
  node: ["protocol", "engine"],
  peer: ["protocol", "engine", "node"],
  server: ["protocol", "engine", "node"],
  client: [],
  bigpeer: ["protocol", "engine", "server", "client"],
  console: ["protocol", "engine", "client"],
};

/** Packages whose sources may use Node's own modules. */
const NODE_PACKAGES = new Set(["node", "peer", "server", "bigpeer"]);

/** The one source file of a package that may import each third-party library. */
const THIRD_PARTY: Record<string, readonly string[]> = {
  "@codemirror/autocomplete": ["packages/console/src/editor/codemirror.ts"],
  "@codemirror/commands": ["packages/console/src/editor/codemirror.ts"],
  "@codemirror/language": ["packages/console/src/editor/codemirror.ts"],
  "@codemirror/lint": ["packages/console/src/editor/codemirror.ts"],
  "@codemirror/state": ["packages/console/src/editor/codemirror.ts"],
  "@codemirror/view": ["packages/console/src/editor/codemirror.ts"],
  "@fastify/busboy": ["packages/server/src/data-api/form-file.ts"],
  "@nats-io/jetstream": ["packages/server/src/nats/nats-connection.ts"],
  "@nats-io/transport-node": ["packages/server/src/nats/nats-connection.ts"],
  "@preact/signals": ["packages/console/src/kit/preact.ts"],
  commander: ["packages/bigpeer/src/program/parser.ts"],
  jose: ["packages/server/src/auth/json-web-token.ts"],
  lmdb: ["packages/node/src/lmdb/lmdb-environment.ts", "packages/node/src/lmdb/commit-thread.ts"],
  pino: ["packages/server/src/observability/log.ts"],
  preact: ["packages/console/src/kit/preact.ts"],
  "preact/hooks": ["packages/console/src/kit/preact.ts"],
  re2js: ["packages/engine/src/pattern/pattern-compiler.ts"],
  react: ["packages/peer/src/react/react.ts"],
  typebox: ["packages/server/src/validation/schema.ts"],
  "typebox/compile": ["packages/server/src/validation/schema.ts"],
  uplot: ["packages/console/src/charts/uplot.ts"],
  ws: ["packages/peer/src/node/web-socket.ts", "packages/server/src/sync/web-socket.ts"],
};

const TEST_LIBRARIES = new Set(["vitest", "vitest/config", "fast-check", "vite"]);

/** The one test file that stands in for the server and may import what the server imports. */
const THIRD_PARTY_IN_TESTS: Record<string, string> = {
  re2js: "packages/engine/test/support/test-platform.ts",
  "ajv/dist/2020.js": "packages/server/test/support/json-schema.ts",
  react: "packages/peer/test/support/react-page.ts",
  "react-dom/client": "packages/peer/test/support/react-page.ts",
  "react-dom/server": "packages/peer/test/support/react-page.ts",
  ws: "packages/server/test/support/sync-client.ts",
};

const QUERY = "packages/engine/src/query/";

/** The folders of the statement language, and its files beside them: each imports only to its left. */
const QUERY_ORDER: readonly (readonly string[])[] = [
  ["bounded-cache.ts", "code-use.ts", "fault.ts", "unknown-name.ts", "uuid.ts"],
  ["value"],
  ["syntax"],
  ["frame"],
  ["date"],
  ["functions"],
  ["system"],
  ["plan"],
  ["compile"],
  ["permission"],
  ["run"],
  ["mutate"],
  ["explain"],
  ["statement"],
  ["live"],
  ["command"],
  ["request.ts"],
  ["task"],
  ["local-runner.ts"],
  ["statement-runner.ts"],
  ["index.ts"],
];

const SYNC = "packages/engine/src/sync/";

/** The folders of the server's side of sync: each imports only to its left. */
const SYNC_ORDER: readonly (readonly string[])[] = [
  ["log"],
  ["outbox"],
  ["stream"],
  ["change"],
  ["download"],
  ["round"],
  ["streams.ts"],
  ["session"],
  ["upload"],
  ["device"],
  ["connection"],
  ["sync-server.ts"],
  ["index.ts"],
];

const SERVER = "packages/server/src/";

/** The folders of the server, and its entries: each imports only to its left. */
const SERVER_ORDER: readonly (readonly string[])[] = [
  ["validation"],
  ["address"],
  ["limits"],
  ["observability"],
  ["config"],
  ["http"],
  ["stores"],
  ["registry"],
  ["auth"],
  ["attachments"],
  ["apps"],
  ["maintenance"],
  ["sync"],
  ["link"],
  ["nats"],
  ["delivery"],
  ["cluster"],
  ["data-api"],
  ["management"],
  ["openapi"],
  ["documentation", "web"],
  ["server.ts"],
  ["command"],
  ["main.ts", "index.ts"],
];

const ORDERS: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  [QUERY, QUERY_ORDER],
  [SYNC, SYNC_ORDER],
  [SERVER, SERVER_ORDER],
]);

/** The files of each package that are in no folder: its entries, or all of it where it is small. */
export const LOOSE_FILES: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "protocol",
    [
      "ambient.d.ts",
      "assert.ts",
      "bytes.ts",
      "cbor-incremental.ts",
      "cbor-writing.ts",
      "cbor.ts",
      "decoded-size.ts",
      "document-id.ts",
      "error.ts",
      "index.ts",
      "json-reader.ts",
      "json.ts",
      "key-path.ts",
      "known-text.ts",
      "near-name.ts",
      "operation-check.ts",
      "operation.ts",
      "ordered-key.ts",
      "stamp.ts",
      "value.ts",
    ],
  ],
  ["engine", ["index.ts", "indexed-set.ts", "limits.ts", "list.ts", "platform.ts", "steps.ts"]],
  [
    "node",
    [
      "disk.ts",
      "erased-store.ts",
      "incarnation.ts",
      "index.ts",
      "json-file.ts",
      "node-platform.ts",
      "slices.ts",
      "store-folder.ts",
    ],
  ],
  [
    "peer",
    [
      "argument-check.ts",
      "auth.ts",
      "deadline.ts",
      "event-hub.ts",
      "gate.ts",
      "index.ts",
      "local-store.ts",
      "observer.ts",
      "observers.ts",
      "options.ts",
      "peer-events.ts",
      "peer.ts",
      "pending-ids.ts",
      "plain-value.ts",
      "presence.ts",
      "remote.ts",
      "reported-faults.ts",
      "session-token.ts",
      "sync.ts",
      "this-host.ts",
      "version.ts",
    ],
  ],
  ["server", ["index.ts", "main.ts", "server.ts"]],
  [
    "client",
    [
      "address.ts",
      "attachments.ts",
      "changes.ts",
      "client.ts",
      "destinations.ts",
      "error.ts",
      "exact-json.ts",
      "index.ts",
      "json.ts",
      "management-calls.ts",
      "management.ts",
      "options.ts",
      "random-text.ts",
      "request.ts",
    ],
  ],
  ["bigpeer", ["main.ts", "process.ts"]],
  ["console", ["main.tsx"]],
]);

/** The folders of a package that others import by an entry of their own, such as @bigpeer/engine/store. */
const ENTRY_FOLDERS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "engine",
    [
      "store",
      "query",
      "changes",
      "sync",
      "peer",
      "link",
      "cluster",
      "pattern",
      "language",
      "explain",
    ],
  ],
  ["server", ["command"]],
  // What bundles for browsers begin with.
  ["peer", ["compat", "compat/react", "compat-v4", "react", "web", "web/page", "web/storage"]],
]);

/** The files of a package that others import by an entry of their own. */
const ENTRY_FILES: ReadonlyMap<string, readonly string[]> = new Map([
  ["client", ["exact-json"]],
  ["server", ["main"]],
]);

/** What the SDK for browsers is bundled from, besides entries (scripts/sdk.mjs). */
const BUNDLED: readonly string[] = [
  "packages/peer/src/web/explain.ts",
  "packages/peer/src/web/attachments.ts",
  "packages/peer/src/web/page/compat-host.ts",
  "packages/engine/src/crdt/no-simple-state.ts",
  "packages/engine/src/query/statement/no-explain-sync.ts",
  "packages/peer/src/web/patterns.ts",
  "packages/peer/src/web/worker/loader.ts",
  "packages/peer/src/web/worker/worker.ts",
];

/** Files that nothing imports because something outside the sources starts there. */
function isStart(path: string): boolean {
  return isEntry(path) || /\/src\/main\.tsx?$|\.d\.ts$/.test(path) || BUNDLED.includes(path);
}

function isEntry(path: string): boolean {
  const [, owner = "", folder] = /^packages\/([^/]+)\/src\/(?:(.+)\/)?index\.ts$/.exec(path) ?? [];
  if (owner === "") return false;
  return folder === undefined || (ENTRY_FOLDERS.get(owner)?.includes(folder) ?? false);
}

const BANNED_NAMES = /^(utils?|helpers?|common|misc|types|manager|impl)$/;
const UNFINISHED = /\b(TODO|FIXME|HACK|XXX)\b/;

/** Words that names once had, and the words of the field that took their place. */
const RETIRED_WORDS: ReadonlyMap<string, string> = new Map([
  ["told", "sent, notified, reported or described"],
  ["untold", "unreported"],
  ["grave", "tombstone"],
  ["graves", "tombstones"],
  ["parcel", "batch or payload"],
  ["parcels", "batches or payloads"],
  ["seal", "sequence or checksum"],
  ["seals", "sequences"],
  ["sealed", "sequenced"],
  ["sealing", "sequencing"],
  ["roster", "indexed set"],
  ["deed", "audit action"],
  ["deeds", "audit actions"],
  ["judge", "permission checker"],
  ["judges", "checkers"],
  ["extras", "session results"],
  ["wanting", "requested"],
  ["effort", "rate limiter, cost meter or decode cost"],
  ["plane", "host"],
  ["figures", "stats"],
  ["aside", "quarantine"],
]);

/** Names that were replaced as a whole; their words alone are good elsewhere. */
const RETIRED_NAMES: ReadonlyMap<string, string> = new Map([
  ["logFloor", "logStart"],
  ["RepeatKey", "IdempotencyKey"],
  ["isRepeated", "isReplay"],
  ["isPassing", "isTransient"],
  ["Turn", "StepContext"],
  ["LinkTurn", "LinkOrder"],
  ["ContentTurns", "KeyedMutex"],
  ["ReadingLine", "DecodeQueue"],
  ["UploadLine", "UploadSequence"],
  ["DocumentNews", "DocumentChange"],
  ["isNews", "hasChanges"],
  ["hasLived", "hasIncarnation"],
  ["DeviceRoll", "DeviceEvictionList"],
  ["LinkHost", "Replicator"],
  ["SyncHost", "SyncServers"],
  ["UploadRoom", "UploadBudget"],
  ["CommitRoom", "CommitSpace"],
  ["RecordRoom", "RecordBudget"],
  ["ByteRoom", "ByteBudget"],
  ["OwnerRoom", "OwnerBudget"],
  ["SystemFacts", "SystemData"],
  ["RequestFacts", "RequestRecord"],
  ["SessionFacts", "SessionConfig"],
  ["LinkFacts", "LinkConfig"],
]);

/** Names that are stored, and so stay: `seal` of a pending record on a small peer (S33). */
const STORED_NAMES = new Set(["seal"]);

const WORD_BORDER = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_-]/;

/** Of a text without these no name can be an old one: it need not be parsed. */
const RETIRED_TEXTS = [
  new RegExp([...RETIRED_WORDS.keys()].join("|"), "i"),
  new RegExp(`\\b(?:${[...RETIRED_NAMES.keys()].join("|")})\\b`),
];

export function checkRetiredNames(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const { path } = file;
    const name = path.slice(path.lastIndexOf("/") + 1).split(".")[0] ?? "";
    const names = [{ text: name, line: 1 }];
    if (RETIRED_TEXTS.some((some) => some.test(file.text)))
      names.push(...findIdentifiers(file, isRetired));
    return names
      .filter(({ text }) => isRetired(text))
      .map(({ text, line }) => `${path}:${line}: ${text} is an old name: use ${useFor(text)}`);
  });
}

function isRetired(name: string): boolean {
  return !STORED_NAMES.has(name) && useFor(name) !== undefined;
}

function useFor(name: string): string | undefined {
  const words = name.split(WORD_BORDER).map((word) => RETIRED_WORDS.get(word.toLowerCase()));
  return RETIRED_NAMES.get(name) ?? words.find((use) => use !== undefined);
}

/** A line of level error says what failed; `expected X, found Y` is for input. */
export function checkErrorLines(files: readonly SourceFile[]): string[] {
  const pattern = /\blog\(\s*"error",\s*["`]expected/gi;
  return files.filter(isSource).flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map(({ index }) => {
      return `${path}:${lineAt(text, index)}: a line of level error says what failed`;
    }),
  );
}

export function checkHeaders(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => isSource(file) && !/^(#!.*\n)?\/[/*]/.test(file.text))
    .map((file) => `${file.path}:1: does not start with a comment that says what the file is`);
}

export function checkNames(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path }) => {
    const name = path.slice(path.lastIndexOf("/") + 1).split(".")[0] ?? "";
    const banned = name.split("-").find((word) => BANNED_NAMES.test(word));
    return banned === undefined ? [] : [`${path}:1: "${banned}" does not name an idea`];
  });
}

export function checkUnfinished(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ text }) => UNFINISHED.test(text))
    .flatMap((file) =>
      findComments(file)
        .filter((comment) => UNFINISHED.test(comment.text))
        .map(
          (comment) => `${file.path}:${comment.line}: unfinished work is an issue, not a comment`,
        ),
    );
}

export function checkLeftOutTests(files: readonly SourceFile[]): string[] {
  const pattern = /\b(?:test|it|describe)\.(only|skip|todo)\b/g;
  return files.filter(isTest).flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((found) => {
      return `${path}:${lineAt(text, found.index)}: .${found[1]} leaves tests out`;
    }),
  );
}

export function checkEntries(files: readonly SourceFile[]): string[] {
  return files.filter(isSource).flatMap((file) => {
    if (!isEntry(file.path) && file.path.endsWith("/index.ts")) {
      return [`${file.path}:1: index.ts is only an entry of a package`];
    }
    return findImports(file)
      .filter((found) => found.isExportAll)
      .map((found) => `${file.path}:${found.line}: export by name, not with *`);
  });
}

export function checkImports(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => isSource(file) || isTest(file))
    .flatMap((file) =>
      findImports(file).flatMap(({ specifier, line }) => {
        const complaint = complainAboutImport(file, specifier);
        return complaint === undefined ? [] : [`${file.path}:${line}: ${complaint}`];
      }),
    );
}

function complainAboutImport(file: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return complainAboutRelative(file, specifier);
  if (specifier.startsWith("@bigpeer/")) return complainAboutSibling(file, specifier);
  if (isTest(file)) {
    const isAllowed =
      specifier.startsWith("node:") ||
      TEST_LIBRARIES.has(specifier) ||
      THIRD_PARTY_IN_TESTS[specifier] === file.path;
    return isAllowed ? undefined : `tests do not import ${specifier}`;
  }
  if (specifier.startsWith("node:")) {
    if (isOnEveryHost(file.path)) return `runs in browsers as well: no ${specifier}`;
    const isAllowed = NODE_PACKAGES.has(packageOf(file.path) ?? "");
    return isAllowed
      ? undefined
      : `${packageOf(file.path)} has no input or output: no ${specifier}`;
  }
  const places = THIRD_PARTY[specifier] ?? [];
  if (places.includes(file.path)) return undefined;
  return `${specifier} may be imported only by ${places.join(", ") || "no file"}`;
}

/** Whether it is a source of the peer that Node and browsers share: all but those of the Node host. */
function isOnEveryHost(path: string): boolean {
  const home = "packages/peer/src/";
  // The bundles for browsers have another file in the place of the last one.
  const isOfNode = [`${home}index.ts`, `${home}this-host.ts`].includes(path);
  return path.startsWith(home) && !path.startsWith(`${home}node/`) && !isOfNode;
}

function complainAboutRelative(file: SourceFile, specifier: string): string | undefined {
  if (!isSource(file)) return undefined;
  const home = `packages/${packageOf(file.path)}/src/`;
  if (
    isOnEveryHost(file.path) &&
    resolveImport(file, specifier).startsWith("packages/peer/src/node/")
  ) {
    return `${specifier} belongs to Node, and this file runs in browsers as well`;
  }
  if (resolveImport(file, specifier).startsWith(home)) return undefined;
  return `${specifier} lies outside ${home}`;
}

function complainAboutSibling(file: SourceFile, specifier: string): string | undefined {
  const from = packageOf(file.path);
  const [, to = "", ...inner] = specifier.split("/");
  const entries = [...(ENTRY_FOLDERS.get(to) ?? []), ...(ENTRY_FILES.get(to) ?? [])];
  if (inner.length > 0 && !entries.includes(inner.join("/"))) {
    return `${specifier}: import a package by its entries`;
  }
  if (from === undefined || from === to || ARROWS[from]?.includes(to)) return undefined;
  return `${from} must not import ${to}`;
}

/** Imports inside the statement language, sync or the server that go to the right, type-only ones too. */
export function checkFolderOrder(files: readonly SourceFile[]): string[] {
  return [...ORDERS].flatMap(([home, order]) => {
    const partOf = (path: string): string => path.slice(home.length).split("/", 1)[0] ?? "";
    const rankOf = (part: string): number => order.findIndex((parts) => parts.includes(part));
    const sources = files.filter((file) => isSource(file) && file.path.startsWith(home));
    return sources.flatMap((file) => {
      const from = partOf(file.path);
      if (rankOf(from) < 0) return [`${file.path}:1: ${from} has no place in the order`];
      return findImports(file).flatMap(({ specifier, line }) => {
        const target = resolveImport(file, specifier);
        if (!specifier.startsWith(".") || !target.startsWith(home)) return [];
        const to = partOf(target);
        if (rankOf(to) <= rankOf(from)) return [];
        return [`${file.path}:${line}: ${from} must not import ${to}`];
      });
    });
  });
}

/** Sources that are in no folder and not listed as such. */
export function checkLooseFiles(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path }) => {
    const [, owner = "", name = ""] = /^packages\/([^/]+)\/src\/([^/]+)$/.exec(path) ?? [];
    if (name === "" || LOOSE_FILES.get(owner)?.includes(name)) return [];
    return [`${path}:1: belongs in a folder: ${name} is not listed as loose`];
  });
}

/** Sources that no other source reaches. */
export function checkOrphans(files: readonly SourceFile[]): string[] {
  const sources = files.filter(isSource);
  const imported = new Set(
    sources.flatMap((file) =>
      findImports(file).map(({ specifier }) => resolveImport(file, specifier)),
    ),
  );
  return sources
    .filter(({ path }) => !isStart(path) && !imported.has(path))
    .map(({ path }) => `${path}:1: no source imports this file`);
}
