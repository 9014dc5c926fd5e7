/**
 * Message fields: schema of all sync messages, used to check them and to describe the shape of the
 * protocol. The compiler compares it with the types in message.ts.
 */

import type { Value } from "../value.ts";
import {
  bytes,
  bytesOfSize,
  type ChecksOf,
  type FieldCheck,
  flag,
  id,
  integerFrom,
  isTrue,
  list,
  listOf,
  listUpTo,
  number,
  object,
  objectOf,
  oneOf,
  optional,
  orNull,
  sameObjectOf,
  site,
  siteOfStamp,
  text,
  textUpTo,
  tupleOf,
  value,
  values,
  valuesUpTo,
  wordOf,
} from "./field-check.ts";
import {
  BYE_CODES,
  type DocumentEntry,
  type IdRange,
  type LinkMessage,
  type Outcome,
  type PeerDescription,
  type PeerMessage,
  type PresentPeer,
  type RunEnd,
  type RunWarning,
  type ServerMessage,
  type SyncBounds,
  type SyncCursor,
  type UploadStepMessage,
  type WholeState,
} from "./message.ts";

/** Characters of a name of a peer. */
export const SYNC_NAME_SIZE_MAX = 256;
/** Bytes of the metadata of a peer. */
export const SYNC_METADATA_BYTES_MAX: number = 16 * 1024;
/** Characters of a credential. */
export const SYNC_TOKEN_SIZE_MAX = 65_536;

/** Warnings that an answer lists. */
export const RUN_WARNINGS_MAX = 10;

/** Sites that one message of a link may list. */
export const SYNC_SITES_MAX = 10_000;

/** Ids of one `want`. */
export const SYNC_WANTED_MAX = 100_000;

type MessageFields<M extends { readonly t: string }> = {
  readonly [Kind in M["t"]]: ChecksOf<Omit<Extract<M, { readonly t: Kind }>, "t">>;
};

const name = textUpTo(SYNC_NAME_SIZE_MAX);
const token = textUpTo(SYNC_TOKEN_SIZE_MAX);
const count = integerFrom(0);
const ordinal = integerFrom(1);
const filter = bytesOfSize(16);
const rights = bytesOfSize(16);
const digest = bytesOfSize(32);

const metadata = valuesUpTo(SYNC_METADATA_BYTES_MAX);

const peer: FieldCheck<PeerDescription> = objectOf<PeerDescription>({
  key: name,
  deviceName: name,
  os: name,
  sdk: name,
  metadata,
});

const cursor: FieldCheck<SyncCursor> = objectOf<SyncCursor>({
  history: name,
  filter,
  txn: count,
  after: optional(id),
});

const bounds: FieldCheck<SyncBounds> = objectOf<SyncBounds>({
  messageBytes: ordinal,
  uploads: ordinal,
  subscriptions: ordinal,
});

const range: FieldCheck<IdRange> = objectOf<IdRange>({
  after: optional(id),
  through: optional(id),
});

const wholeState: FieldCheck<WholeState> = tupleOf<WholeState>(
  orNull(object),
  orNull(object as FieldCheck<NonNullable<WholeState[1]>>),
  bytes,
);

const entry: FieldCheck<DocumentEntry> = oneOf<DocumentEntry>({
  put: tupleOf(wordOf(["put"]), id, count, wholeState),
  delta: tupleOf(wordOf(["delta"]), id, count, count, bytes),
  left: tupleOf(wordOf(["left"]), id, count, wholeState),
  drop: tupleOf(wordOf(["drop"]), id),
  deleted: tupleOf(wordOf(["deleted"]), id, count, count, siteOfStamp),
});

const outcome: FieldCheck<Outcome> = objectOf<Outcome>({
  site,
  number: ordinal,
  kind: wordOf(["applied", "refused", "stale"]),
  txn: count,
  reason: text,
  documents: listOf(tupleOf<readonly [string, DocumentEntry]>(text, entry)),
});

/**
 * Checked roughly: the store finds faults inside and answers with `refused`. Returned as it is: the
 * digest of an upload covers what was sent.
 */
const step: FieldCheck<UploadStepMessage> = sameObjectOf<UploadStepMessage>({
  time: number,
  operations: list as FieldCheck<UploadStepMessage["operations"]>,
});

const ping = { now: count, txn: optional(count) };
const pong = { ping: count, now: count, txn: optional(count), pending: optional(count) };
const bye = { code: wordOf(BYE_CODES), message: text, after: optional(count) };

const present: FieldCheck<PresentPeer> = objectOf<PresentPeer>({
  session: ordinal,
  key: name,
  deviceName: name,
  os: name,
  sdk: name,
  metadata,
  since: count,
});

const warning: FieldCheck<RunWarning> = objectOf<RunWarning>({
  description: text,
  id: optional(id),
});

const runEnd: FieldCheck<RunEnd> = objectOf<RunEnd>({
  elapsedMs: count,
  warnings: listUpTo(RUN_WARNINGS_MAX, warning),
  totalWarnings: count,
  error: optional(objectOf<NonNullable<RunEnd["error"]>>({ code: text, message: text })),
});

const siteFields = { site, known: optional(count) };

export const PEER_FIELDS: MessageFields<PeerMessage> = {
  hello: { version: ordinal, app: optional(name), token, site, peer, now: count },
  subscribe: { id: count, query: text, args: values, cursor: optional(cursor) },
  unsubscribe: { id: count },
  want: { filter, ids: listUpTo(SYNC_WANTED_MAX, id), isLast: optional(isTrue) },
  upload: { number: ordinal, digest, steps: listOf(step) },
  site: siteFields,
  token: { token },
  metadata: { metadata },
  watch: { isOn: flag },
  answer: { id: ordinal, items: listOf(value), end: optional(runEnd) },
  ping,
  pong,
  bye,
};

export const SERVER_FIELDS: MessageFields<ServerMessage> = {
  welcome: {
    version: ordinal,
    history: name,
    app: name,
    txn: count,
    now: count,
    known: count,
    rights,
    bounds,
    expires: optional(count),
  },
  subscribed: {
    id: count,
    filter,
    collection: text,
    mode: wordOf(["resume", "compare", "fill"]),
  },
  unsubscribed: { id: count, code: text, message: text },
  documents: {
    filter,
    entries: listOf(entry),
    range: optional(range),
    asOf: optional(count),
    committed: optional(count),
  },
  versions: {
    filter,
    list: listOf(tupleOf<readonly [Value, number]>(id, count)),
    range,
  },
  complete: { filter, txn: count },
  behind: { filters: listOf(filter) },
  committed: { txn: count, outcomes: listOf(outcome) },
  forked: { site, number: ordinal },
  site: siteFields,
  rights: { rights, expires: optional(count) },
  presence: {
    isWhole: optional(isTrue),
    total: count,
    peers: listOf(present),
    gone: listOf(ordinal),
  },
  run: {
    id: ordinal,
    statement: text,
    args: values,
    ms: ordinal,
    rows: ordinal,
    bytes: ordinal,
  },
  cancel: { id: ordinal },
  ping,
  pong,
  bye,
};

const { subscribe, unsubscribe, want } = PEER_FIELDS;
const { subscribed, unsubscribed, documents, complete, behind, committed } = SERVER_FIELDS;

const sites = listUpTo(SYNC_SITES_MAX, site);

export const LINK_FIELDS: MessageFields<LinkMessage> = {
  link: { version: ordinal, app: name, nonce: bytesOfSize(32) },
  proof: { proof: digest },
  linked: { history: name, txn: count, now: count, sites: optional(sites) },
  subscribe,
  unsubscribe,
  want,
  subscribed,
  unsubscribed,
  documents,
  complete,
  behind,
  committed,
  fetch: { id: name, offset: count },
  content: { id: name, offset: count, bytes, size: optional(count) },
  ping: { ...ping, sites: optional(sites) },
  pong,
  bye,
};
