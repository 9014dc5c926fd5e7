/**
 * Followed query: what this store follows of another one, and how far it is with it.
 *
 * How far it is lies in the catalog of the store, under the history of the source and a digest of
 * the query. It is written with the documents that it counts (S54), so it never tells of more than
 * is here. It may tell of less: what is merged again changes nothing.
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

/** The section of the catalog. */
const SECTION = "link";

/** Transactions that a cursor may be behind while nothing comes of them (S54). */
const CURSOR_BEHIND_MAX = 1000;

/** A cursor is not older than this while the link is there: see `staleUpTo`. */
const CURSOR_AGE_MS_MAX = 86_400_000;

export type LinkCursor = {
  readonly filter: Uint8Array;
  /** Of the source. */
  readonly txn: number;
  /** When the follower was in step last, milliseconds since 1970; 0 for never. */
  readonly at: number;
  /** A fill has begun and is not whole: parts of two states are here. */
  readonly isTorn?: true;
  /** Of one that is torn: up to and with this id it is merged as of `txn`; left out for nothing. */
  readonly after?: Value;
  readonly collection: string;
  readonly condition: string;
};

/**
 * `waiting`: the source has not answered yet; `filling`: it fills or catches up; `behind`: the source
 * waits until this side reads.
 */
export type FollowState = "waiting" | "filling" | "live" | "behind";

export class FollowedQuery {
  readonly id: number;
  readonly query: LinkQuery;
  readonly source: string;
  /** Under which its cursor is in the catalog. */
  readonly name: string;
  state: FollowState = "waiting";
  /** Undefined until the source has named it. */
  filter: Uint8Array | undefined;
  /** The transaction of the source up to which everything is here. */
  txn = 0;
  /** What the catalog says; undefined where it says nothing. */
  written: LinkCursor | undefined;
  /** Whether there is something that a cursor has to be written for, once it is whole. */
  isDirty = false;
  /** Finds what was not told of any more; undefined until a fill comes that needs it. */
  sweep: LinkSweep | undefined;
  /** How far a fill is that is not whole. */
  readonly fill: FillProgress = new FillProgress();
  /** Whether documents of this query have come before: then a fill does not tell all (S51). */
  #hasHeld = false;
  /** Whether pieces of a fill have come. */
  #hasPieces = false;
  /** The transaction of a cursor that the source did not go on from. */
  #passedTxn: number | undefined;
  /**
   * What is not held here and was written up to this time may have been deleted here, and that be
   * forgotten: see `startFrom`. 0 for nothing.
   */
  staleUpTo = 0;

  /** `key` names the query. */
  constructor(id: number, query: LinkQuery, source: string, key: string) {
    this.id = id;
    this.query = query;
    this.source = source;
    this.name = `${source} ${key}`;
  }

  /**
   * Where to go on; undefined for the beginning.
   *
   * A source that is in step has all deletions from here before they are forgotten here. After an
   * outage longer than that it may bring back what was deleted here meanwhile. So what it had then,
   * and is not held now, is put aside (rule 8 of the semantics) until this has caught up.
   */
  startFrom(view: View): SyncCursor | undefined {
    this.written = this.#read(view);
    if (this.written === undefined) return undefined;
    const { filter, txn, at, isTorn, after } = this.written;
    // What was on its way then, or stamped by a clock that was behind, has not been here.
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
   * The source does not go on from the cursor: what it counts is not known there. One that a fault has
   * put ahead of all that the source has must not stay so.
   */
  startOver(): void {
    this.txn = 0;
    if (this.written === undefined || this.written.isTorn === true) return;
    this.#passedTxn ??= this.written.txn;
    this.written = { ...this.written, txn: 0 };
  }

  /** Documents of it may be on their way into the store, over this link or one before it. */
  mayHold(): void {
    this.#hasHeld = true;
  }

  /** A piece of a fill has come. Of one that begins anew, what came before may match no more (S51). */
  tookPiece({ after }: IdRange): void {
    this.isDirty = true;
    if (after === undefined && this.#hasPieces) this.#hasHeld = true;
    this.#hasPieces = true;
  }

  /** Whether what a fill does not list has to be asked for. */
  get isSwept(): boolean {
    return this.#hasHeld;
  }

  /** Whether something that was asked for has still to come: until then it is not whole. */
  get isDoubtful(): boolean {
    return this.sweep?.isDone === false;
  }

  /** Whether it is whole, and no cursor says so. */
  get isUnwritten(): boolean {
    return this.state === "live" && this.isDirty && !this.isDoubtful;
  }

  /** Everything up to a transaction is merged. */
  reach(txn: number): void {
    this.txn = Math.max(this.txn, txn);
  }

  /** It is whole. */
  complete(): void {
    // With its old cursor the same would be in doubt again.
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

  /** Whether a cursor has to be written though nothing else is: S54. */
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
   * Of a fill that is not whole, when all parcels before `open` are merged; undefined where that is
   * known. What was never in step had nothing that may be forgotten here.
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

  /** Of a fill that came further than a cursor says. */
  fillCursor(): LinkCursor | undefined {
    const isBegun = this.fill.before(Number.POSITIVE_INFINITY) !== undefined;
    return isBegun ? this.tornCursor(Number.POSITIVE_INFINITY) : undefined;
  }

  /** How far it is in the end. */
  lastCursor(nowMs: number): LinkCursor | undefined {
    const { state, txn, written } = this;
    const isNewer = written === undefined || written.isTorn === true || txn > written.txn;
    const cursor = state === "live" && isNewer ? this.cursorAt(txn, nowMs) : undefined;
    return cursor ?? this.fillCursor();
  }

  /** Undefined where the catalog knows as much: another link may have written it. */
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

/** Whether one cursor says all that the other does. */
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
