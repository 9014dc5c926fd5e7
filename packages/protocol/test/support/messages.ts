/**
 * Messages to test with: arbitraries of every kind that either side may say. The compiler holds them
 * to the shapes, and to having one for each kind.
 */

import * as fc from "fast-check";
import type { Types } from "../../src/operation.ts";
import {
  BYE_CODES,
  type DocumentEntry,
  type IdRange,
  type LinkMessage,
  type Outcome,
  type PeerMessage,
  type PresentPeer,
  type RunEnd,
  type RunWarning,
  type ServerMessage,
  type SyncCursor,
  type UploadStepMessage,
  type WholeState,
} from "../../src/sync/message.ts";
import type { Value, ValueObject } from "../../src/value.ts";
import { objectOf, texts, values } from "./values.ts";

type Kinds<M extends { readonly t: string }> = {
  readonly [Kind in M["t"]]: fc.Arbitrary<Extract<M, { readonly t: Kind }>>;
};

const counts = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 2 ** 32, Number.MAX_SAFE_INTEGER));
const ordinals = counts.map((count) => Math.max(count, 1));
const hashes = fc.uint8Array({ minLength: 16, maxLength: 16 });
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });
const bytes = fc.uint8Array({ maxLength: 20 });
const sites = fc
  .bigInt({ min: 1n, max: 2n ** 64n - 1n })
  .map((number) => number.toString(16).padStart(16, "0"));
const ids: fc.Arbitrary<Value> = fc.oneof(
  texts,
  fc.maxSafeInteger().map((integer) => integer + 0),
  fc.boolean(),
  fc.uint8Array({ maxLength: 5 }),
  fc.array(fc.oneof(texts, fc.integer(), fc.constant(null)), { maxLength: 3 }),
  fc.tuple(texts, fc.integer()).map(([name, value]) => objectOf([[name, value]])),
);
const objects: fc.Arbitrary<ValueObject> = fc
  .uniqueArray(fc.tuple(texts, values), { maxLength: 3, selector: ([name]) => name })
  .map((pairs) => objectOf(pairs) as ValueObject);
const types: fc.Arbitrary<Types | null> = fc.constantFrom<(Types | null)[]>(
  null,
  { n: "counter" },
  { m: { x: "register" } },
);

const whole: fc.Arbitrary<WholeState> = fc.tuple(fc.option(objects, { nil: null }), types, bytes);

export const entries: fc.Arbitrary<DocumentEntry> = fc.oneof(
  fc.tuple(fc.constant("put" as const), ids, counts, whole),
  fc.tuple(fc.constant("delta" as const), ids, counts, counts, bytes),
  fc.tuple(fc.constant("left" as const), ids, counts, whole),
  fc.tuple(fc.constant("drop" as const), ids),
  fc.tuple(fc.constant("deleted" as const), ids, counts, counts, sites),
);

const ranges: fc.Arbitrary<IdRange> = partly<IdRange>({ after: ids, through: ids }, []);

const outcomes: fc.Arbitrary<Outcome> = fc.record({
  site: sites,
  number: ordinals,
  kind: fc.constantFrom("applied", "refused", "stale"),
  txn: counts,
  reason: texts,
  documents: fc.array(fc.tuple(texts, entries), { maxLength: 3 }),
});

const steps: fc.Arbitrary<UploadStepMessage> = fc.record({
  time: fc.nat(),
  operations: fc.array(
    fc.record({
      kind: fc.constant("insert" as const),
      collection: texts,
      id: ids,
      fields: objects,
    }),
    { maxLength: 3 },
  ),
});

const present: fc.Arbitrary<PresentPeer> = fc.record({
  session: ordinals,
  key: texts,
  deviceName: texts,
  os: texts,
  sdk: texts,
  metadata: objects,
  since: counts,
});

const warnings: fc.Arbitrary<RunWarning> = partly<RunWarning>({ description: texts, id: ids }, [
  "description",
]);

const runEnds: fc.Arbitrary<RunEnd> = partly<RunEnd>(
  {
    elapsedMs: counts,
    warnings: fc.array(warnings, { maxLength: 3 }),
    totalWarnings: counts,
    error: fc.record({ code: texts, message: texts }),
  },
  ["elapsedMs", "warnings", "totalWarnings"],
);

const shared = {
  site: partly<{ t: "site"; site: string; known?: number }>(
    { t: fc.constant("site"), site: sites, known: counts },
    ["t", "site"],
  ),
  ping: partly<{ t: "ping"; now: number; txn?: number }>(
    { t: fc.constant("ping"), now: counts, txn: counts },
    ["t", "now"],
  ),
  pong: partly<Extract<PeerMessage, { t: "pong" }>>(
    { t: fc.constant("pong"), ping: counts, now: counts, txn: counts, pending: counts },
    ["t", "ping", "now"],
  ),
  bye: partly<Extract<PeerMessage, { t: "bye" }>>(
    { t: fc.constant("bye"), code: fc.constantFrom(...BYE_CODES), message: texts, after: counts },
    ["t", "code", "message"],
  ),
};

export const PEER_MESSAGES: Kinds<PeerMessage> = {
  ...shared,
  hello: partly<Extract<PeerMessage, { t: "hello" }>>(
    {
      t: fc.constant("hello"),
      version: ordinals,
      app: texts,
      token: texts,
      site: sites,
      peer: fc.record({
        key: texts,
        deviceName: texts,
        os: texts,
        sdk: texts,
        metadata: objects,
      }),
      now: counts,
    },
    ["t", "version", "token", "site", "peer", "now"],
  ),
  subscribe: partly<Extract<PeerMessage, { t: "subscribe" }>>(
    {
      t: fc.constant("subscribe"),
      id: counts,
      query: texts,
      args: objects,
      cursor: partly<SyncCursor>({ history: texts, filter: hashes, txn: counts, after: ids }, [
        "history",
        "filter",
        "txn",
      ]),
    },
    ["t", "id", "query", "args"],
  ),
  unsubscribe: fc.record({ t: fc.constant("unsubscribe" as const), id: counts }),
  want: partly<Extract<PeerMessage, { t: "want" }>>(
    {
      t: fc.constant("want"),
      filter: hashes,
      ids: fc.array(ids, { maxLength: 4 }),
      isLast: fc.constant(true as const),
    },
    ["t", "filter", "ids"],
  ),
  upload: fc.record({
    t: fc.constant("upload" as const),
    number: ordinals,
    digest: digests,
    steps: fc.array(steps, { maxLength: 3 }),
  }),
  token: fc.record({ t: fc.constant("token" as const), token: texts }),
  metadata: fc.record({ t: fc.constant("metadata" as const), metadata: objects }),
  watch: fc.record({ t: fc.constant("watch" as const), isOn: fc.boolean() }),
  answer: partly<Extract<PeerMessage, { t: "answer" }>>(
    {
      t: fc.constant("answer"),
      id: ordinals,
      items: fc.array(values, { maxLength: 3 }),
      end: runEnds,
    },
    ["t", "id", "items"],
  ),
};

export const SERVER_MESSAGES: Kinds<ServerMessage> = {
  ...shared,
  presence: partly<Extract<ServerMessage, { t: "presence" }>>(
    {
      t: fc.constant("presence"),
      isWhole: fc.constant(true as const),
      total: counts,
      peers: fc.array(present, { maxLength: 3 }),
      gone: fc.array(ordinals, { maxLength: 3 }),
    },
    ["t", "total", "peers", "gone"],
  ),
  run: fc.record({
    t: fc.constant("run" as const),
    id: ordinals,
    statement: texts,
    args: objects,
    ms: ordinals,
    rows: ordinals,
    bytes: ordinals,
  }),
  cancel: fc.record({ t: fc.constant("cancel" as const), id: ordinals }),
  welcome: partly<Extract<ServerMessage, { t: "welcome" }>>(
    {
      t: fc.constant("welcome"),
      version: ordinals,
      history: texts,
      app: texts,
      txn: counts,
      now: counts,
      known: counts,
      rights: hashes,
      bounds: fc.record({ messageBytes: ordinals, uploads: ordinals, subscriptions: ordinals }),
      expires: counts,
    },
    ["t", "version", "history", "app", "txn", "now", "known", "rights", "bounds"],
  ),
  subscribed: fc.record({
    t: fc.constant("subscribed" as const),
    id: counts,
    filter: hashes,
    collection: texts,
    mode: fc.constantFrom("resume", "compare", "fill"),
  }),
  unsubscribed: fc.record({
    t: fc.constant("unsubscribed" as const),
    id: counts,
    code: texts,
    message: texts,
  }),
  documents: partly<Extract<ServerMessage, { t: "documents" }>>(
    {
      t: fc.constant("documents"),
      filter: hashes,
      entries: fc.array(entries, { maxLength: 4 }),
      range: ranges,
      asOf: counts,
      committed: counts,
    },
    ["t", "filter", "entries"],
  ),
  versions: fc.record({
    t: fc.constant("versions" as const),
    filter: hashes,
    list: fc.array(fc.tuple(ids, counts), { maxLength: 4 }),
    range: ranges,
  }),
  complete: fc.record({ t: fc.constant("complete" as const), filter: hashes, txn: counts }),
  behind: fc.record({
    t: fc.constant("behind" as const),
    filters: fc.array(hashes, { maxLength: 3 }),
  }),
  committed: fc.record({
    t: fc.constant("committed" as const),
    txn: counts,
    outcomes: fc.array(outcomes, { maxLength: 3 }),
  }),
  forked: fc.record({ t: fc.constant("forked" as const), site: sites, number: ordinals }),
  rights: partly<Extract<ServerMessage, { t: "rights" }>>(
    { t: fc.constant("rights"), rights: hashes, expires: counts },
    ["t", "rights"],
  ),
};

/** Records with all of the named fields, and any of the others. */
function partly<T>(
  fields: { readonly [K in keyof T]-?: fc.Arbitrary<Exclude<T[K], undefined>> },
  required: readonly (keyof T)[],
): fc.Arbitrary<T> {
  return fc.record(fields, {
    requiredKeys: [...required],
    noNullPrototype: true,
  });
}

const { subscribe, unsubscribe, want } = PEER_MESSAGES;
const { subscribed, unsubscribed, documents, complete, behind, committed } = SERVER_MESSAGES;
const { ping, pong, bye } = shared;

export const LINK_MESSAGES: Kinds<LinkMessage> = {
  ping,
  pong,
  bye,
  subscribe,
  unsubscribe,
  want,
  subscribed,
  unsubscribed,
  documents,
  complete,
  behind,
  committed,
  link: fc.record({
    t: fc.constant("link" as const),
    version: ordinals,
    app: texts,
    nonce: digests,
  }),
  proof: fc.record({ t: fc.constant("proof" as const), proof: digests }),
  linked: fc.record({
    t: fc.constant("linked" as const),
    history: texts,
    txn: counts,
    now: counts,
  }),
  fetch: fc.record({ t: fc.constant("fetch" as const), id: texts, offset: counts }),
  content: partly<Extract<LinkMessage, { t: "content" }>>(
    { t: fc.constant("content"), id: texts, offset: counts, bytes, size: counts },
    ["t", "id", "offset", "bytes"],
  ),
};
