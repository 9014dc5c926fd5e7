/**
 * PeerLayers: the interface of the store that a peer's session uses to apply what the server sent
 * and to read local writes. Each promise resolves when its effect is durable; calls come one at a
 * time.
 */

import type {
  DocumentEntry,
  IdRange,
  Outcome,
  Site,
  StreamMode,
  SyncCursor,
  Value,
  ValueObject,
  Versions,
} from "@bigpeer/protocol";
import type { FillRecord } from "../store/peer-records.ts";
import type { UploadStep } from "../store/upload-step.ts";
import type { RefusedUpload } from "./outcome.ts";

/** An upload whose number, times and digest are final (S33). */
export interface SequencedUpload {
  readonly site: Site;
  readonly number: number;
  readonly digest: Uint8Array;
  readonly steps: readonly UploadStep[];
}

export interface ConfirmedPart {
  /** Key of the subscription in the peer's store. */
  readonly subscription: string;
  readonly entries: readonly DocumentEntry[];
  /** In a fill: documents held in the range that are not among the entries are released (S14). */
  readonly range?: IdRange;
  /** Position of the fill after this part (S57). Left out if the server did not send it. */
  readonly fill?: FillRecord;
}

/** What one local transaction applies from the server. */
export interface ConfirmedBatch {
  readonly parts: readonly ConfirmedPart[];
  readonly outcomes: readonly Outcome[];
  /** Documents by collection, of ended subscriptions: applied if the peer holds them (S74). */
  readonly notices?: readonly (readonly [string, DocumentEntry])[];
  /** Live subscriptions are complete up to this transaction after the batch. */
  readonly committed?: number;
  /** Subscriptions that are live after the batch. */
  readonly completed?: readonly {
    readonly subscription: string;
    readonly filter: Uint8Array;
    readonly txn: number;
  }[];
}

export interface AppliedBatch<Refused> {
  /** Documents that the peer must request whole, because a delta did not fit (S18). */
  readonly wants: readonly { readonly subscription: string; readonly ids: readonly Value[] }[];
  readonly refused: readonly Refused[];
}

export interface PeerLayers<Refused = RefusedUpload> {
  /** The current site of this store; a fork replaces it (S75). */
  readonly site: Site;
  /** Local transactions without an outcome. */
  readonly pendingCount: number;
  /** Calls `listener` when a local write has become durable. Returns a function that stops it. */
  onPending(listener: () => void): () => void;
  /** Applies a new history (S38) and rights (S71); ends streams of the previous connection. */
  welcome(welcome: {
    readonly history: string;
    readonly app: string;
    readonly rights: Uint8Array;
    /** How far the server's clock is ahead of the device's. */
    readonly offsetMs: number;
  }): Promise<void>;
  /** Applies rights that changed during the connection (S71). */
  rights(rights: Uint8Array): Promise<unknown>;
  /** Key and cursor of a subscription. The key is the same for equal query and arguments. */
  subscription(
    query: string,
    args: ValueObject,
  ): { readonly key: string; readonly cursor?: SyncCursor | undefined };
  /** A fill or comparison begins: until it is complete, the previous cursor is invalid (S15). */
  begin(subscription: string, mode: Exclude<StreamMode, "resume">): Promise<unknown>;
  apply(batch: ConfirmedBatch): Promise<AppliedBatch<Refused>>;
  /** Returns listed ids that are not held in these versions; releases what is not listed (S13). */
  compare(subscription: string, versions: Versions): Promise<readonly Value[]>;
  /** The subscriptions are no longer live: their cursors stay at the position that they reached. */
  behind(subscriptions: readonly string[]): Promise<unknown>;
  /** Like `behind`, for a subscription that the peer has ended (S21). */
  release(subscription: string): Promise<unknown>;
  /** The server does not permit it: releases the documents that it alone covers (S71). */
  deny(subscription: string): Promise<unknown>;
  /** Uploads that were never sent, at most `max`, with times corrected by `offsetMs` (S33, S78). */
  sequence(offsetMs: number, max: number): Promise<readonly SequencedUpload[]>;
  /**
   * Uploads that were handed out before and have no outcome, in order, at most `max`: former sites
   * first, and of each site only numbers above the one in `after`.
   */
  sequenced(after: ReadonlyMap<Site, number>, max: number): Iterable<SequencedUpload>;
  /** The server has uploads of the site up to `known` (S30). Returns another site to ask about. */
  reoffer(site: Site, known: number): Promise<Site | undefined>;
  /** Moves the upload of the site with this number, and all later ones, to a new site (S75). */
  fork(site: Site, number: number): Promise<unknown>;
}
