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

/**
 * The version of this protocol: it changes when any message does, unless by an optional field of a link
 * without which both sides go on as before (S1).
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
  /** Inside of a fill: up to and with this id, and no further (S57). */
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
  /** With a range: all ids up to its end were told as of this transaction or a later one (S57). */
  readonly asOf?: number;
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
  /** From the peer: its store has taken in what live subscriptions brought up to here. */
  readonly txn?: number;
  /** From the peer: its writes without an outcome. */
  readonly pending?: number;
}

/** Other metadata of the peer than in its hello (S40). */
export interface MetadataMessage {
  readonly t: "metadata";
  readonly metadata: ValueObject;
}

/** Whether the peer wants to see other peers (S41). */
export interface Watch {
  readonly t: "watch";
  readonly isOn: boolean;
}

/** What peers of an app are told of each other. */
export interface PresentPeer {
  /** Names this connection of the peer; never used again. */
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
  /** What was told before counts no more: the list begins anew. */
  readonly isWhole?: true;
  /** All other peers that are connected, told of or not. */
  readonly total: number;
  /** Those that came or are others now. */
  readonly peers: readonly PresentPeer[];
  /** Sessions that are over. */
  readonly gone: readonly number[];
}

/** A statement that somebody wants to be run on the peer (S44). */
export interface RunMessage {
  readonly t: "run";
  readonly id: number;
  readonly statement: string;
  readonly args: ValueObject;
  /** How long it may take, and how much may come of it. */
  readonly ms: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Nobody waits for the answer any more. */
export interface CancelMessage {
  readonly t: "cancel";
  readonly id: number;
}

export interface RunWarning {
  readonly description: string;
  /** Of the document that it is about. */
  readonly id?: Value;
}

export interface RunEnd {
  /** How long it took on the peer. */
  readonly elapsedMs: number;
  readonly warnings: readonly RunWarning[];
  /** Those that are not listed included. */
  readonly totalWarnings: number;
  /** Left out when it went well. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Rows of a statement that was run; the last piece says how it went. */
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

/** The first words of each side of a link (S48). */
export interface LinkHello {
  readonly t: "link";
  readonly version: number;
  readonly app: string;
  /** 32 bytes that nobody can foresee. */
  readonly nonce: Uint8Array;
}

/** That a side knows the secret of the replication. */
export interface Proof {
  readonly t: "proof";
  readonly proof: Uint8Array;
}

/** Both have proved who they are: what each tells of its store. */
export interface Linked {
  readonly t: "linked";
  readonly history: string;
  readonly txn: number;
  readonly now: number;
  /** The sites of Big Peers that the side knows, its own among them (S60). */
  readonly sites?: readonly Site[];
}

export interface LinkPing extends Ping {
  /** All of them, when the side knows more than it has told (S60). */
  readonly sites?: readonly Site[];
}

/** Asks for the content of an attachment, from a byte on. */
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
  /** The size of all of it; left out when it is not here. */
  readonly size?: number;
}

/** What both sides of a link say (S47). */
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
