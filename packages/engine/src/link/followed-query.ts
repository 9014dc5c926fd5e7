/**
 * Followed query: a query that this store follows on another store, with its replication cursor.
 *
 * The catalog of the store holds the cursor, under the history of the source and a digest of the
 * query. It is written with the documents that it counts (S54), so it never claims more than the
 * store has. It may claim less: merging a document again changes nothing.
 */

import {
  type CatalogOperation,
  compareBytes,
  documentId,
  type IdRange,
  type SyncCursor,
  timeOfMs,
  type Value,
} from "@bigpeer/protocol";
import { DRIFT_MS_MAX } from "../limits.ts";
import type { View } from "../store/view.ts";
import { FillProgress } from "./fill-progress.ts";
import type { LinkQuery } from "./link-query.ts";
import type { LinkSweep } from "./link-sweep.ts";

/** Section of the catalog. */
const SECTION = "link";

/** Transactions that a cursor may be behind while nothing changes (S54). */
const CURSOR_BEHIND_MAX = 1000;

/** Age of a cursor at which it is written again while the link is up: see `staleUpTo`. */
const CURSOR_AGE_MS_MAX = 86_400_000;

export type LinkCursor = {
  readonly filter: Uint8Array;
  /** Transaction of the source. */
  readonly txn: number;
  /** When the follower was last in step, in milliseconds since 1970; 0 for never. */
  readonly at: number;
  /** A fill has begun and is not complete: the store has parts of two states. */
  readonly isTorn?: true;
  /** With `isTorn`: ids up to and including this one are merged as of `txn`; absent for none. */
  readonly after?: Value;
  readonly collection: string;
  readonly condition: string;
};

/**
 * `waiting`: the source has not answered yet; `filling`: it fills or catches up; `behind`: the
 * source waits until this side reads.
 */
export type FollowState = "waiting" | "filling" | "live" | "behind";

export class FollowedQuery {
  readonly id: number;
  readonly query: LinkQuery;
  readonly source: string;
  /** Name of its cursor in the catalog. */
  readonly name: string;
  state: FollowState = "waiting";
  /** Undefined until the source has sent it. */
  filter: Uint8Array | undefined;
  /** The transaction of the source up to which everything is merged. */
  txn = 0;
  /** The cursor in the catalog; undefined if there is none. */
  written: LinkCursor | undefined;
  /** Whether a cursor must be written once the query is complete. */
  isDirty = false;
  /** Finds documents that a fill does not list; undefined until a fill needs it (S85). */
  sweep: LinkSweep | undefined;
  /** Progress of a fill that is not complete. */
  readonly fill: FillProgress = new FillProgress();
  /** Whether documents of this query came before: then a fill needs a sweep (S85). */
  #hasHeld = false;
  /** Whether pieces of a fill have arrived. */
  #hasPieces = false;
  /** Transaction of a cursor that the source did not continue from. */
  #passedTxn: number | undefined;
  /**
   * A document that is not held here and was written up to this time may have been deleted here,
   * and the deletion forgotten: see `startFrom`. 0 for none.
   */
  staleUpTo = 0;

  /** `key`: digest of the query. */
  constructor(id: number, query: LinkQuery, source: string, key: string) {
    this.id = id;
    this.query = query;
    this.source = source;
    this.name = `${source} ${key}`;
  }

  /**
   * Reads the cursor to continue from; undefined to begin with the first id.
   *
   * A source that is in step has all deletions of this store before they are forgotten here. After
   * a longer outage it may bring back documents that were deleted here meanwhile. So documents that
   * it had then and that this store does not hold are set aside, until this has caught up (S87).
   */
  startFrom(view: View): SyncCursor | undefined {
    this.written = this.#read(view);
    if (this.written === undefined) return undefined;
    const { filter, txn, at, isTorn, after } = this.written;
    // Documents in transit at that time, or stamped by a clock that was behind, have not been here.
    const time = Math.max(0, timeOfMs(at - DRIFT_MS_MAX));
    this.#hasHeld = true;
    this.staleUpTo = time < view.head.horizon ? time : 0;
    if (isTorn === true) {
      return after === undefined ? undefined : { history: this.source, filter, txn, after };
    }
    this.txn = txn;
    return { history: this.source, filter, txn };
  }

  /**
   * The source does not continue from the cursor, so the cursor is void (S54). A cursor that a
   * fault has put ahead of the source must not stay so.
   */
  startOver(): void {
    this.txn = 0;
    if (this.written === undefined || this.written.isTorn === true) return;
    this.#passedTxn ??= this.written.txn;
    this.written = { ...this.written, txn: 0 };
  }

  /** Documents of it may be on their way into the store, over this link or a previous one. */
  mayHold(): void {
    this.#hasHeld = true;
  }

  /** A piece of a fill arrived. After a restart earlier documents may no longer match (S85). */
  tookPiece({ after }: IdRange): void {
    this.isDirty = true;
    if (after === undefined && this.#hasPieces) this.#hasHeld = true;
    this.#hasPieces = true;
  }

  /** Whether documents that a fill does not list must be requested. */
  get isSwept(): boolean {
    return this.#hasHeld;
  }

  /** Whether requested documents have not arrived yet: until then the query is not complete. */
  get isDoubtful(): boolean {
    return this.sweep?.isDone === false;
  }

  /** Whether the query is complete and no cursor says so. */
  get isUnwritten(): boolean {
    return this.state === "live" && this.isDirty && !this.isDoubtful;
  }

  /** Everything up to a transaction is merged. */
  reach(txn: number): void {
    this.txn = Math.max(this.txn, txn);
  }

  /** The query is complete. */
  complete(): void {
    // With the old cursor the same documents would be in doubt again.
    if (this.staleUpTo > 0) this.isDirty = true;
    this.state = "live";
    this.#hasHeld = true;
    this.staleUpTo = 0;
  }

  wrote(cursor: LinkCursor): void {
    this.written = cursor;
    this.fill.documents = 0;
    if (cursor.isTorn === true) return;
    this.isDirty = false;
    this.#passedTxn = undefined;
    this.fill.clear();
  }

  /** Whether a cursor must be written although nothing changed (S54). */
  isDue(txn: number, nowMs: number): boolean {
    const { written, filter } = this;
    if (filter === undefined || this.isDoubtful) return false;
    if (written === undefined || written.isTorn === true) return true;
    if (compareBytes(written.filter, filter) !== 0) return true;
    if (txn - written.txn >= CURSOR_BEHIND_MAX) return true;
    return nowMs - written.at >= CURSOR_AGE_MS_MAX;
  }

  cursorAt(txn: number, nowMs: number): LinkCursor | undefined {
    const { filter, query } = this;
    return this.isDoubtful ? undefined : filter && { filter, txn, at: nowMs, ...query };
  }

  /**
   * Cursor of an incomplete fill, if all inbound batches before `open` are merged; undefined if it
   * is written already. A query that was never in step has no deletions that may be forgotten here.
   */
  tornCursor(open: number): LinkCursor | undefined {
    const { filter, query, written } = this;
    const mark = this.fill.before(open);
    if (filter === undefined || (mark === undefined && written?.isTorn === true)) return undefined;
    const { txn, after } = mark ?? { txn: 0 };
    const at = written?.at ?? 0;
    const cursor = { filter, txn, at, ...query, isTorn: true } as const;
    const torn = after === undefined ? cursor : { ...cursor, after };
    return written !== undefined && isSameFill(written, torn) ? undefined : torn;
  }

  /** Cursor of a fill that is further than the written cursor. */
  fillCursor(): LinkCursor | undefined {
    const isBegun = this.fill.before(Number.POSITIVE_INFINITY) !== undefined;
    return isBegun ? this.tornCursor(Number.POSITIVE_INFINITY) : undefined;
  }

  /** The cursor to write when the link ends. */
  lastCursor(nowMs: number): LinkCursor | undefined {
    const { state, txn, written } = this;
    const isNewer = written === undefined || written.isTorn === true || txn > written.txn;
    const cursor = state === "live" && isNewer ? this.cursorAt(txn, nowMs) : undefined;
    return cursor ?? this.fillCursor();
  }

  /** Undefined if the catalog already has as much: another link may have written it. */
  operation(cursor: LinkCursor, view: View): CatalogOperation | undefined {
    const known = this.#read(view);
    if (known !== undefined && isKnown(known, cursor)) return undefined;
    const isSame =
      known !== undefined &&
      compareBytes(known.filter, cursor.filter) === 0 &&
      known.isTorn !== true &&
      cursor.isTorn !== true;
    const txn = isSame ? Math.max(known.txn, cursor.txn) : cursor.txn;
    return { kind: "catalog", section: SECTION, name: this.name, value: { ...cursor, txn } };
  }

  #read(view: View): LinkCursor | undefined {
    const found = view.catalog(SECTION, this.name) as LinkCursor | undefined;
    if (found === undefined || found.isTorn === true) return found;
    return found.txn === this.#passedTxn ? { ...found, txn: 0 } : found;
  }
}

/** Whether the first cursor covers the second. */
function isKnown(known: LinkCursor, cursor: LinkCursor): boolean {
  if (compareBytes(known.filter, cursor.filter) !== 0) return false;
  if (cursor.isTorn !== true) {
    return known.isTorn !== true && known.txn >= cursor.txn && known.at >= cursor.at;
  }
  if (known.isTorn === true) return cursor.after === undefined || isSameFill(known, cursor);
  return cursor.after !== undefined && known.txn >= cursor.txn;
}

function isSameFill(a: LinkCursor, b: LinkCursor): boolean {
  if (a.isTorn !== b.isTorn || a.txn !== b.txn || compareBytes(a.filter, b.filter) !== 0) {
    return false;
  }
  if (a.after === undefined || b.after === undefined) return a.after === b.after;
  return documentId(a.after).key === documentId(b.after).key;
}
