/**
 * Sync messages: what a small peer and a Big Peer say to each other (docs/sync-protocol.md).
 *
 * Each message is a CBOR map whose `t` names its kind. Inside, documents are arrays, because there
 * are many. A filter, digest or rights hash is binary; a site is text; times are milliseconds since
 * 1970 where they are of a clock (`now`) and ticks where they are of a stamp.
 */

import type { Types, UploadOperation } from "../operation.ts";
import type { Site } from "../stamp.ts";
import type { Value, ValueObject } from "../value.ts";

/** The version of this protocol: it changes when any message does. */
export const SYNC_VERSION = 1;

/** The hash of the shape of this version; a test compares it with that of message-fields.ts. */
export const SYNC_SHAPE = "6ac6519cce431f3e524132bc67d9b5c1a9e2de989fbb1309091e98731c309cfd";

/** Bytes of one message, of either side. */
export const SYNC_MESSAGE_BYTES_MAX: number = 16 * 1024 * 1024;

/** What a peer says of itself; `key` names the installation. */
export interface PeerDescription {
  readonly key: string;
  readonly deviceName: string;
  readonly os: string;
  readonly sdk: string;
  readonly metadata: ValueObject;
}

export interface Hello {
  readonly t: "hello";
  readonly version: number;
  /** Left out where the path or the credential says it. */
  readonly app?: string;
  readonly token: string;
  readonly site: Site;
  readonly peer: PeerDescription;
  readonly now: number;
}

export interface SyncBounds {
  /** Bytes of a message that either side may send. */
  readonly messageBytes: number;
  /** Uploads without an outcome. */
  readonly uploads: number;
  /** Subscriptions of one session. */
  readonly subscriptions: number;
}

export interface Welcome {
  readonly t: "welcome";
  readonly version: number;
  readonly history: string;
  readonly app: string;
  readonly txn: number;
  readonly now: number;
  /** The number of the last upload of the site that the server has; 0 for none. */
  readonly known: number;
  readonly rights: Uint8Array;
  readonly bounds: SyncBounds;
  /** When the credential ends, milliseconds since 1970; left out when it does not. */
  readonly expires?: number;
}

export interface SyncCursor {
  readonly history: string;
  readonly filter: Uint8Array;
  readonly txn: number;
}

export interface Subscribe {
  readonly t: "subscribe";
  /** Chosen by the peer, one for each subscription of a session. */
  readonly id: number;
  readonly query: string;
  readonly args: ValueObject;
  readonly cursor?: SyncCursor;
}

export interface Unsubscribe {
  readonly t: "unsubscribe";
  readonly id: number;
}

export type StreamMode = "resume" | "compare" | "fill";

export interface Subscribed {
  readonly t: "subscribed";
  readonly id: number;
  readonly filter: Uint8Array;
  readonly collection: string;
  readonly mode: StreamMode;
}

/** The subscription was not taken, or cannot go on. */
export interface Unsubscribed {
  readonly t: "unsubscribed";
  readonly id: number;
  readonly code: string;
  readonly message: string;
}

/**
 * A whole state as it lies in a store: the shown fields (null when nothing shows), the marks of
 * their types (null for none), and the metadata.
 */
export type WholeState = readonly [
  fields: ValueObject | null,
  types: Types | null,
  meta: Uint8Array,
];

/** Canonical bytes of a delta, to be merged into the state that has the version `from`. */
export type DeltaState = Uint8Array;

export type DocumentEntry =
  | readonly ["put", id: Value, version: number, state: WholeState]
  | readonly ["delta", id: Value, version: number, from: number, state: DeltaState]
  | readonly ["left", id: Value, version: number, state: WholeState]
  | readonly ["drop", id: Value]
  /** The stamp of the deletion as [time, site]. */
  | readonly ["deleted", id: Value, version: number, time: number, site: Site];

/** A piece of the ids of a collection in their order: behind `after` up to and with `through`. */
export interface IdRange {
  /** Left out at the beginning. */
  readonly after?: Value;
  /** Left out at the end. */
  readonly through?: Value;
}

export interface Documents {
  readonly t: "documents";
  readonly filter: Uint8Array;
  readonly entries: readonly DocumentEntry[];
  /** Of a fill: these are all documents of the range that match. */
  readonly range?: IdRange;
  /** Set on the last frame of a transaction: `committed` with this number and without outcomes. */
  readonly committed?: number;
}

/** Of a compare: all documents of the range that match, with their versions. */
export interface Versions {
  readonly t: "versions";
  readonly filter: Uint8Array;
  readonly list: readonly (readonly [id: Value, version: number])[];
  readonly range: IdRange;
}

/** Asks for whole states: of a compare, and where a delta did not fit. */
export interface Want {
  readonly t: "want";
  readonly filter: Uint8Array;
  readonly ids: readonly Value[];
  /** Of a compare: nothing more is wanted, the last piece was seen. */
  readonly isLast?: true;
}

export interface Complete {
  readonly t: "complete";
  readonly filter: Uint8Array;
  readonly txn: number;
}

/** The filters are not live any more: what comes next of them ends with `complete`. */
export interface Behind {
  readonly t: "behind";
  readonly filters: readonly Uint8Array[];
}

export type OutcomeKind = "applied" | "refused" | "stale";

/** What became of an upload. */
export interface Outcome {
  readonly site: Site;
  readonly number: number;
  readonly kind: OutcomeKind;
  /** The transaction that it became. */
  readonly txn: number;
  /** Empty unless it was refused. */
  readonly reason: string;
  /** Documents that it wrote and that no live subscription has brought. */
  readonly documents: readonly (readonly [collection: string, entry: DocumentEntry])[];
}

export interface CommittedMessage {
  readonly t: "committed";
  readonly txn: number;
  readonly outcomes: readonly Outcome[];
}

export interface UploadStepMessage {
  readonly time: number;
  readonly operations: readonly UploadOperation[];
}

export interface UploadMessage {
  readonly t: "upload";
  readonly number: number;
  readonly digest: Uint8Array;
  readonly steps: readonly UploadStepMessage[];
}

/** The upload with this number, and all behind it, were not taken: see S29. */
export interface Forked {
  readonly t: "forked";
  readonly site: Site;
  readonly number: number;
}

/** From the peer: the site of the uploads that follow. From the server: what it has of it. */
export interface SiteMessage {
  readonly t: "site";
  readonly site: Site;
  /** From the server only: the number of the last upload that it has. */
  readonly known?: number;
}

/** A new token for the running session. */
export interface TokenMessage {
  readonly t: "token";
  readonly token: string;
}

export interface Rights {
  readonly t: "rights";
  readonly rights: Uint8Array;
  readonly expires?: number;
}

export interface Ping {
  readonly t: "ping";
  readonly now: number;
  /** From the server: live subscriptions are complete up to here. */
  readonly txn?: number;
}

export interface Pong {
  readonly t: "pong";
  /** The `now` of the ping. */
  readonly ping: number;
  readonly now: number;
}

export const BYE_CODES = [
  "malformed",
  "version",
  "unauthorized",
  "expired",
  "busy",
  "closing",
  "too_slow",
  "stopped",
] as const;
export type ByeCode = (typeof BYE_CODES)[number];

export interface Bye {
  readonly t: "bye";
  readonly code: ByeCode;
  readonly message: string;
  /** Milliseconds after which to come back. */
  readonly after?: number;
}

export type PeerMessage =
  | Hello
  | Subscribe
  | Unsubscribe
  | Want
  | UploadMessage
  | SiteMessage
  | TokenMessage
  | Ping
  | Pong
  | Bye;

export type ServerMessage =
  | Welcome
  | Subscribed
  | Unsubscribed
  | Documents
  | Versions
  | Complete
  | Behind
  | CommittedMessage
  | Forked
  | SiteMessage
  | Rights
  | Ping
  | Pong
  | Bye;
