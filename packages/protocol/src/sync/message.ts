/**
 * Sync messages: the types of all messages between a small peer and a Big Peer, and between two Big
 * Peers (docs/sync-protocol.md).
 *
 * Each message is a CBOR map whose `t` names its kind. Documents inside are arrays, because there
 * are many. A filter, digest or rights hash is binary; a site is text. Clock times (`now`) are
 * milliseconds since 1970; times of stamps are ticks.
 */

import type { Types, UploadOperation } from "../operation.ts";
import type { Site } from "../stamp.ts";
import type { Value, ValueObject } from "../value.ts";

/**
 * Protocol version: it changes with any message, except for an optional field of a link, which a
 * receiver may ignore (S1).
 */
export const SYNC_VERSION = 2;

/** Describes a refused version, and says which side must be upgraded. */
export function versionMismatch(own: string, other: string, found: number): string {
  const behind = found < SYNC_VERSION ? other : own;
  return `${own} speaks protocol ${SYNC_VERSION}, ${other} speaks ${found}: upgrade ${behind}`;
}

/** The hash of the shape of this version; a test compares it with that of message-fields.ts. */
export const SYNC_SHAPE = "66dd64874ea9a8a5b8d38b058428e0187de0d6d0ca580c108930a18a40b99d08";

/** Bytes of one message, of either side. */
export const SYNC_MESSAGE_BYTES_MAX: number = 16 * 1024 * 1024;

/** Description that a peer gives of itself; `key` identifies the installation. */
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
  /** Left out where the path or the credential names it. */
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
  /** When the credential expires, milliseconds since 1970; left out when it does not. */
  readonly expires?: number;
}

export interface SyncCursor {
  readonly history: string;
  readonly filter: Uint8Array;
  readonly txn: number;
  /** Inside a fill: up to and including this id (S57). */
  readonly after?: Value;
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

/** The subscription was refused, or cannot continue. */
export interface Unsubscribed {
  readonly t: "unsubscribed";
  readonly id: number;
  readonly code: string;
  readonly message: string;
}

/**
 * A whole state in the records of a store: the shown fields (null when nothing shows), their type
 * marks (null for none), and the metadata.
 */
export type WholeState = readonly [
  fields: ValueObject | null,
  types: Types | null,
  meta: Uint8Array,
];

/** Canonical bytes of a delta, to merge into the state with the version `from`. */
export type DeltaState = Uint8Array;

export type DocumentEntry =
  | readonly ["put", id: Value, version: number, state: WholeState]
  | readonly ["delta", id: Value, version: number, from: number, state: DeltaState]
  | readonly ["left", id: Value, version: number, state: WholeState]
  | readonly ["drop", id: Value]
  /** The stamp of the deletion as [time, site]. */
  | readonly ["deleted", id: Value, version: number, time: number, site: Site];

/** A range of the ids of a collection in order: after `after`, up to and including `through`. */
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
  /** In a fill: these are all matching documents of the range. */
  readonly range?: IdRange;
  /** With a range: all ids up to its end were sent as of this transaction or a later one (S57). */
  readonly asOf?: number;
  /** Set on the last frame of a transaction: `committed` with this number and without outcomes. */
  readonly committed?: number;
}

/** In a comparison: all matching documents of the range, with their versions. */
export interface Versions {
  readonly t: "versions";
  readonly filter: Uint8Array;
  readonly list: readonly (readonly [id: Value, version: number])[];
  readonly range: IdRange;
}

/** Requests whole states: in a comparison, and where a delta did not fit. */
export interface Want {
  readonly t: "want";
  readonly filter: Uint8Array;
  readonly ids: readonly Value[];
  /** In a comparison: the peer saw the last piece and requests nothing more. */
  readonly isLast?: true;
}

export interface Complete {
  readonly t: "complete";
  readonly filter: Uint8Array;
  readonly txn: number;
}

/** The filters are not live any more: their catch-up ends with `complete`. */
export interface Behind {
  readonly t: "behind";
  readonly filters: readonly Uint8Array[];
}

export type OutcomeKind = "applied" | "refused" | "stale";

/** The outcome of an upload. */
export interface Outcome {
  readonly site: Site;
  readonly number: number;
  readonly kind: OutcomeKind;
  /** The transaction of the upload. */
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

/** The server did not take the upload with this number, nor any after it: see S29. */
export interface Forked {
  readonly t: "forked";
  readonly site: Site;
  readonly number: number;
}

/** From the peer: the site of the uploads that follow. From the server: its last upload. */
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
  /** From the peer: its store has everything that live subscriptions brought up to here. */
  readonly txn?: number;
  /** From the peer: the number of its writes without an outcome. */
  readonly pending?: number;
}

/** Replaces the metadata of the peer's hello (S40). */
export interface MetadataMessage {
  readonly t: "metadata";
  readonly metadata: ValueObject;
}

/** Whether the peer receives `presence` (S41). */
export interface Watch {
  readonly t: "watch";
  readonly isOn: boolean;
}

/** What peers of an app see of each other (S42). */
export interface PresentPeer {
  /** Identifies this connection of the peer; never reused. */
  readonly session: number;
  readonly key: string;
  readonly deviceName: string;
  readonly os: string;
  readonly sdk: string;
  readonly metadata: ValueObject;
  /** Since when it is connected, milliseconds since 1970. */
  readonly since: number;
}

export interface PresenceMessage {
  readonly t: "presence";
  /** The list starts over: earlier presence messages are void. */
  readonly isWhole?: true;
  /** All other connected peers, listed or not. */
  readonly total: number;
  /** Peers that are new or have changed. */
  readonly peers: readonly PresentPeer[];
  /** Sessions that ended. */
  readonly gone: readonly number[];
}

/** Asks the peer to run a statement (S44). */
export interface RunMessage {
  readonly t: "run";
  readonly id: number;
  readonly statement: string;
  readonly args: ValueObject;
  /** Limits of its duration and of its result. */
  readonly ms: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Stops a statement; its answer is no longer expected (S46). */
export interface CancelMessage {
  readonly t: "cancel";
  readonly id: number;
}

export interface RunWarning {
  readonly description: string;
  /** The document that it is about. */
  readonly id?: Value;
}

export interface RunEnd {
  /** Duration on the peer. */
  readonly elapsedMs: number;
  readonly warnings: readonly RunWarning[];
  /** Unlisted ones included. */
  readonly totalWarnings: number;
  /** Left out on success. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Rows of a remote statement; the last piece has `end` (S45). */
export interface AnswerMessage {
  readonly t: "answer";
  readonly id: number;
  readonly items: readonly Value[];
  readonly end?: RunEnd;
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
  "duplicate",
] as const;
export type ByeCode = (typeof BYE_CODES)[number];

export interface Bye {
  readonly t: "bye";
  readonly code: ByeCode;
  readonly message: string;
  /** Milliseconds after which to reconnect. */
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
  | MetadataMessage
  | Watch
  | AnswerMessage
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
  | PresenceMessage
  | RunMessage
  | CancelMessage
  | Ping
  | Pong
  | Bye;

/** The first message of each side of a link (S48). */
export interface LinkHello {
  readonly t: "link";
  readonly version: number;
  readonly app: string;
  /** 32 unpredictable bytes. */
  readonly nonce: Uint8Array;
}

/** Proof that a side knows the secret of the replication (S48). */
export interface Proof {
  readonly t: "proof";
  readonly proof: Uint8Array;
}

/** Sent after both proofs: describes the store of the side (S49). */
export interface Linked {
  readonly t: "linked";
  readonly history: string;
  readonly txn: number;
  readonly now: number;
  /** The sites of Big Peers that the side knows, its own among them (S60). */
  readonly sites?: readonly Site[];
}

export interface LinkPing extends Ping {
  /** All of them, when the side knows more than it has sent (S60). */
  readonly sites?: readonly Site[];
}

/** Requests the content of an attachment, from a byte offset on. */
export interface FetchMessage {
  readonly t: "fetch";
  readonly id: string;
  readonly offset: number;
}

/** A piece of the content of an attachment. */
export interface ContentMessage {
  readonly t: "content";
  readonly id: string;
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** The size of the whole content; left out when it is not here. */
  readonly size?: number;
}

/** Messages of both sides of a link (S47). */
export type LinkMessage =
  | LinkHello
  | Proof
  | Linked
  | Subscribe
  | Unsubscribe
  | Want
  | Subscribed
  | Unsubscribed
  | Documents
  | Complete
  | Behind
  | CommittedMessage
  | FetchMessage
  | ContentMessage
  | LinkPing
  | Pong
  | Bye;
