/**
 * Session streams: the interfaces between the streams of documents and the session of one peer.
 *
 * A session sends frames and reports how many bytes are still queued. Its streams are its
 * subscriptions, one for each effective filter (S69).
 */

import type {
  OutcomeKind,
  PeerError,
  Site,
  StreamMode,
  SyncCursor,
  Value,
} from "@bigpeer/protocol";
import type { Authority } from "../../query/permission/authority.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { OutboxChannel } from "../outbox/outbox.ts";
import type { PreparedStream } from "./filter.ts";

/** What a session does for its streams. */
export interface StreamSession extends OutboxChannel {
  /** What the peer may read now; undefined for everything. */
  readonly authority: Authority | undefined;
  /** A stream failed and is over: its subscriptions get `unsubscribed`. */
  onFailed(filterKey: string, error: PeerError): void;
}

/** Outcome of an upload that is durable. */
export interface StreamOutcome {
  readonly site: Site;
  readonly number: number;
  readonly kind: OutcomeKind;
  readonly txn: number;
  readonly reason: string;
  /** The documents that it wrote; none if it was refused. */
  readonly documents: readonly WrittenDocument[];
}

export interface WrittenDocument {
  readonly collection: string;
  readonly id: Value;
}

/** `filling`: it fills, compares or catches up; `behind`: it waits until the peer reads (S22). */
export type StreamState = "filling" | "live" | "behind";

/** A document to look up. */
export interface AskedDocument {
  readonly idKey: string;
  /** The transaction that changed it last; 0 if it was never here. */
  readonly version: number;
  /** Undefined if it is not visible. */
  readonly shown: StoredDocument | undefined;
}

/** How far a stream is with one document. */
export interface DocumentPlace {
  /** Whether the condition matches it, whatever the peer may read. */
  readonly isMatching: boolean;
  /** The transaction as of which the peer was sent the document; undefined if it was not yet. */
  readonly sentUpTo: number | undefined;
  /** Whether the network has taken those frames. */
  readonly isTaken: boolean;
  readonly isLive: boolean;
  /** Transaction and time of the last send outside the order of transactions. */
  readonly settledTxn: number;
  readonly settledMs: number;
}

/** All streams of one session. */
export interface SessionStreams {
  /**
   * Begins a stream and returns the mode for `subscribed`. Nothing of the stream is sent before the
   * current turn of the event loop ends. A filter that is already followed starts over, from a
   * state that all its subscriptions can continue from (S69).
   */
  follow(prepared: PreparedStream, cursor: SyncCursor | undefined): StreamMode;
  /** Ends the stream for all its subscriptions in this session. */
  unfollow(filterKey: string): void;
  /** Requests whole states (S13, S18). Ignores ids of a filter that is not followed. */
  want(filterKey: string, ids: readonly Value[], isLast: boolean): void;
  /** Queues an outcome for `committed`, after the changes of its transaction (S28). */
  outcome(outcome: StreamOutcome): void;
  /** The network has taken what was sent: waiting work continues. */
  drained(): void;
  close(): void;
  /** State of a stream; `filling` if the filter is not followed. */
  stateOf(filterKey: string): StreamState;
  /**
   * How far a document is; undefined if the filter is not followed. Throws if the evaluation
   * exceeds its time or memory, as mayRead does.
   */
  placeOf(filterKey: string, document: AskedDocument): DocumentPlace | undefined;
  /** Whether the peer may read the current state of a document. */
  mayRead(collection: string, document: StoredDocument): boolean;
  /** Outcomes that wait for their round, or until the peer reads. */
  readonly unsentOutcomes: number;
  /** The transaction up to which all live streams have been sent (S5). */
  readonly completeUpTo: number;
  /** The same including streams that are behind or catch up; a first fill does not count. */
  readonly sentUpTo: number;
}

/** Statistics of all streams: current counts and totals. */
export interface StreamStats {
  /** Effective filters with streams. */
  readonly groups: number;
  readonly streams: number;
  readonly live: number;
  /** Streams that fill, compare or catch up; those that are behind do not count. */
  readonly filling: number;
  readonly behind: number;
  readonly framesEncoded: number;
  readonly framesSent: number;
  readonly bytesSent: number;
  readonly bytesQueued: number;
  /** Milliseconds from the notice of the first commit of the last round to its last frame. */
  readonly lagMs: number;
}
