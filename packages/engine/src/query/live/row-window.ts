/**
 * RowWindow: the rows of an ordered result from the first one on, as far as they are needed, and some
 * behind them.
 *
 * The rows behind what is needed are a reserve: when one of the needed ones goes, the next moves up,
 * and nothing has to be read. When the reserve is used up and there may be more, the window is
 * short, and whoever keeps it must fill it again.
 *
 * What always holds: of all rows of the result, in their order, the window has the first so many,
 * without a gap. Either it has all of them, or there is a bound: every row up to it is here, and
 * nothing is known of those behind it.
 */

import type { Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import type { Window } from "../run/sort.ts";
import type { Datum } from "../value/datum.ts";

/** A row by the document that it comes from. */
export interface HeldRow {
  readonly id: Value;
  readonly idKey: string;
  /** What it is ordered by. */
  readonly keys: readonly Datum[];
  /** What it is made from, as long as it is at hand. */
  document: StoredDocument | undefined;
  /** What is given back for it; made when the row is needed. */
  item: Value | undefined;
  /** Memory that it takes, with the item when there is one. */
  bytes: number;
}

export type CompareKeys = (a: readonly Datum[], b: readonly Datum[]) => number;

/** How many rows are kept behind those that are needed: as many again, but not too many. */
const RESERVE_MIN = 16;
const RESERVE_MAX = 1024;

export class RowWindow {
  readonly #compare: CompareKeys;
  readonly #offset: number;
  /** Rows from the first one on that are needed. */
  readonly needed: number;
  readonly capacity: number;
  #rows: HeldRow[] = [];
  readonly #byKey = new Map<string, HeldRow>();
  /** Undefined when all rows of the result are here. */
  #bound: HeldRow | undefined;
  #bytes = 0;

  constructor(compare: CompareKeys, { offset, limit }: Window) {
    this.#compare = compare;
    this.#offset = offset;
    this.needed = limit === 0 ? 0 : offset + limit;
    const reserve = Math.min(Math.max(this.needed, RESERVE_MIN), RESERVE_MAX);
    this.capacity = this.needed === 0 ? 0 : this.needed + reserve;
  }

  get length(): number {
    return this.#rows.length;
  }

  /** Memory that all rows take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A row that is here has grown. */
  charge(row: HeldRow, bytes: number): void {
    row.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Whether a row that is needed may be missing. */
  get isShort(): boolean {
    return this.#bound !== undefined && this.#rows.length < this.needed;
  }

  /** The rows that are given back. */
  get given(): readonly HeldRow[] {
    return this.#rows.slice(this.#offset, this.needed);
  }

  /** The order of the result: by the keys, those of equal keys by id. */
  readonly order = (a: HeldRow, b: HeldRow): number => {
    const order = this.#compare(a.keys, b.keys);
    if (order !== 0) return order;
    if (a.idKey === b.idKey) return 0;
    return a.idKey < b.idKey ? -1 : 1;
  };

  clear(): void {
    this.#rows = [];
    this.#byKey.clear();
    this.#bound = undefined;
    this.#bytes = 0;
  }

  /** `rows` are the first ones of the result, in their order; `isWhole`: there are no others. */
  fill(rows: readonly HeldRow[], isWhole: boolean): void {
    this.clear();
    this.#rows = rows.slice(0, this.capacity);
    for (const row of this.#rows) {
      this.#byKey.set(row.idKey, row);
      this.#bytes += row.bytes;
    }
    const isAll = isWhole && rows.length === this.#rows.length;
    this.#bound = isAll ? undefined : this.#rows.at(-1);
  }

  /** The row of a document; undefined when it is not here. */
  find(idKey: string): HeldRow | undefined {
    return this.#byKey.get(idKey);
  }

  /** Whether a row that is here is given back. */
  isGiven(row: HeldRow): boolean {
    const at = this.#placeOf(row);
    return at >= this.#offset && at < this.needed;
  }

  /** Takes a row that is here out, and tells where it was. */
  remove(row: HeldRow): number {
    const at = this.#placeOf(row);
    this.#rows.splice(at, 1);
    this.#byKey.delete(row.idKey);
    this.#bytes -= row.bytes;
    return at;
  }

  /** Puts a row where it belongs and tells where that is; undefined when it is behind the bound. */
  add(row: HeldRow): number | undefined {
    if (this.capacity === 0) return undefined;
    if (this.#bound !== undefined && this.order(row, this.#bound) > 0) return undefined;
    const at = this.#placeOf(row);
    if (at >= this.capacity) {
      this.#bound ??= this.#rows.at(-1);
      return undefined;
    }
    this.#rows.splice(at, 0, row);
    this.#byKey.set(row.idKey, row);
    this.#bytes += row.bytes;
    if (this.#rows.length > this.capacity) this.#dropLast();
    return at;
  }

  #dropLast(): void {
    const last = this.#rows.pop();
    if (last !== undefined) {
      this.#byKey.delete(last.idKey);
      this.#bytes -= last.bytes;
    }
    this.#bound = this.#rows.at(-1);
  }

  /** The first place whose row does not come before this one. */
  #placeOf(row: HeldRow): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.order(this.#rows[middle] as HeldRow, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
