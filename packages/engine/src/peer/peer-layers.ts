/**
 * What the session of a peer asks of its store: to take what the server sent, and to hand out what
 * was written here. Every promise resolves when its effect is durable; they are called one at a time.
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
import type { UploadStep } from "../store/upload.ts";
import type { RefusedUpload } from "./outcome.ts";

/** An upload whose number, times and digest never change again (S33). */
export interface SealedUpload {
  readonly site: Site;
  readonly number: number;
  readonly digest: Uint8Array;
  readonly steps: readonly UploadStep[];
}

export interface ConfirmedPart {
  /** The key of the subscription at the peer. */
  readonly subscription: string;
  readonly entries: readonly DocumentEntry[];
  /** Of a fill: what was held in the range and is not among the entries is let go of. */
  readonly range?: IdRange;
  /** Of a fill, with a range: how far it is with this part. Left out where the server did not say. */
  readonly fill?: FillRecord;
}

/** What one local transaction takes over from the server. */
export interface ConfirmedBatch {
  readonly parts: readonly ConfirmedPart[];
  readonly outcomes: readonly Outcome[];
  /** Documents by collection that came for nobody any more: taken where they are held (S28). */
  readonly told?: readonly (readonly [string, DocumentEntry])[];
  /** Live subscriptions are complete up to here after the batch. */
  readonly committed?: number;
  /** Subscriptions that are live after the batch. */
  readonly completed?: readonly {
    readonly subscription: string;
    readonly filter: Uint8Array;
    readonly txn: number;
  }[];
}

export interface AppliedBatch<Refused> {
  /** Documents of which only the whole will do (S18). */
  readonly wants: readonly { readonly subscription: string; readonly ids: readonly Value[] }[];
  readonly refused: readonly Refused[];
}

export interface PeerLayers<Refused = RefusedUpload> {
  /** The site of this store, as it is now: a fork gives it another one. */
  readonly site: Site;
  /** Local writes without an outcome. */
  readonly pendingCount: number;
  /** Calls when a local write became durable. */
  onPending(listener: () => void): () => void;
  /** Takes a new history and new rights (S21, S38); ends the streams of the connection before. */
  welcome(welcome: {
    readonly history: string;
    readonly app: string;
    readonly rights: Uint8Array;
    /** How far the server's clock is ahead of that of the device. */
    readonly offsetMs: number;
  }): Promise<void>;
  /** The rights changed while connected (S21). */
  rights(rights: Uint8Array): Promise<unknown>;
  /** The key of a subscription, the same for equal query and arguments, and where it stands. */
  subscription(
    query: string,
    args: ValueObject,
  ): { readonly key: string; readonly cursor?: SyncCursor | undefined };
  /** A fill or compare begins: until it is complete, the cursor counts no more (S15). */
  begin(subscription: string, mode: Exclude<StreamMode, "resume">): Promise<unknown>;
  apply(batch: ConfirmedBatch): Promise<AppliedBatch<Refused>>;
  /** The ids that are not held in these versions; lets go of what is not listed (S13). */
  compare(subscription: string, versions: Versions): Promise<readonly Value[]>;
  /** The subscriptions are not live any more: their cursors stay where they are. */
  behind(subscriptions: readonly string[]): Promise<unknown>;
  /** As behind, and nobody follows it any more (S21). */
  release(subscription: string): Promise<unknown>;
  /** The server does not permit it: what it alone covers is let go of (S21). */
  deny(subscription: string): Promise<unknown>;
  /** Those that were never sent, at most so many, with the offset of the server's clock (S33). */
  seal(offsetMs: number, max: number): Promise<readonly SealedUpload[]>;
  /**
   * Those that were handed out before and have no outcome, in order, at most so many: former sites
   * first, and of each site what is behind the number in `after`.
   */
  sealed(after: ReadonlyMap<Site, number>, max: number): Iterable<SealedUpload>;
  /** The server knows the uploads of the site up to `known`: see S30. */
  reoffer(site: Site, known: number): Promise<Site | undefined>;
  /** The upload of the site with this number, and what comes behind it, needs a new site (S29). */
  fork(site: Site, number: number): Promise<unknown>;
}
