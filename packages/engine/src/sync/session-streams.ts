/**
 * What the data plane of the sync server and the session of a peer are to each other.
 *
 * A session is whoever speaks with one peer: it takes frames as bytes and says how much of them is
 * still on its way. Its streams are its subscriptions, one for each effective filter (S10).
 */

import type {
  OutcomeKind,
  PeerError,
  Site,
  StreamMode,
  SyncCursor,
  Value,
} from "@bigpeer/protocol";
import type { Authority } from "../query/permission/authority.ts";
import type { StoredDocument } from "../store/view.ts";
import type { PreparedStream } from "./filter.ts";

/** What a session can do for its streams. */
export interface StreamSession {
  /** Never throws. What is sent is sent in this order. */
  send(bytes: Uint8Array): void;
  /** Bytes that were handed to `send` and that the network has not taken yet. */
  readonly queuedBytes: number;
  /** What the peer may read now; undefined for one who may read everything. */
  readonly authority: Authority | undefined;
  /** A stream cannot go on, and is over: `unsubscribed` for those who had it. */
  onFailed(filterKey: string, error: PeerError): void;
}

/** What became of an upload, once it is durable. */
export interface StreamOutcome {
  readonly site: Site;
  readonly number: number;
  readonly kind: OutcomeKind;
  readonly txn: number;
  readonly reason: string;
  /** The documents that it wrote; none when it was refused. */
  readonly documents: readonly WrittenDocument[];
}

export interface WrittenDocument {
  readonly collection: string;
  readonly id: Value;
}

/** `filling`: it fills, compares or catches up; `behind`: until the peer reads again (S22). */
export type StreamState = "filling" | "live" | "behind";

/** A document that somebody asks about. */
export interface AskedDocument {
  readonly idKey: string;
  /** The transaction that changed it last; 0 when it was never here. */
  readonly version: number;
  /** Undefined when it does not show. */
  readonly shown: StoredDocument | undefined;
}

/** How far a stream is with a document. */
export interface DocumentPlace {
  /** Whether the condition is true for it, whatever the peer may read. */
  readonly isMatching: boolean;
  /** The transaction as of which the peer was sent what the filter says of it; undefined: not yet. */
  readonly sentUpTo: number | undefined;
  /** Whether the network has taken what was sent. */
  readonly isTaken: boolean;
  readonly isLive: boolean;
  /** As of when, and when, something was last sent outside of the order of transactions. */
  readonly settledTxn: number;
  readonly settledMs: number;
}

/** All streams of one session. */
export interface SessionStreams {
  /**
   * Begins at once, in turns; the answer is what `subscribed` tells. Nothing of the stream is sent
   * before the caller has had the turn in which he called. A filter that is followed already starts
   * over, from a state that both followers can go on from.
   */
  follow(prepared: PreparedStream, cursor: SyncCursor | undefined): StreamMode;
  /** Ends the stream for everybody who followed it in this session. */
  unfollow(filterKey: string): void;
  /** Asks for whole states (S13, S18). Of a filter that is not followed: nothing happens. */
  want(filterKey: string, ids: readonly Value[], isLast: boolean): void;
  /** Goes into `committed`, behind the changes of its transaction (S28). */
  outcome(outcome: StreamOutcome): void;
  /** What was sent has been taken: what waited for it goes on. */
  drained(): void;
  close(): void;
  /** How far a stream is; one that is not followed has everything before it. */
  stateOf(filterKey: string): StreamState;
  /**
   * Where a document is on its way; undefined for a filter that is not followed. Throws what ends an
   * evaluation that takes too long or too much, as mayRead does.
   */
  placeOf(filterKey: string, document: AskedDocument): DocumentPlace | undefined;
  /** Whether the peer may read a document as it is now. */
  mayRead(collection: string, document: StoredDocument): boolean;
  /** Outcomes that wait for their round, or until the peer reads. */
  readonly unsentOutcomes: number;
  /** The transaction up to which all live streams have been sent (S5). */
  readonly completeUpTo: number;
  /** The same with those that fell behind, or catch up; a first fill does not count. */
  readonly sentUpTo: number;
}

/** What the data plane does at this moment, and has done. */
export interface StreamFigures {
  /** Effective filters that are followed. */
  readonly groups: number;
  readonly streams: number;
  readonly live: number;
  /** Fill, compare or catch up; those that are behind are not among them. */
  readonly filling: number;
  readonly behind: number;
  readonly framesEncoded: number;
  readonly framesSent: number;
  readonly bytesSent: number;
  readonly bytesQueued: number;
  /** Milliseconds from the news of the last commit to the last frame that it caused. */
  readonly lagMs: number;
}
