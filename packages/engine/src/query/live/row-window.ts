/**
 * RowWindow: the leading rows of an ordered result with a reserve behind them, for LIMIT in live
 * queries.
 *
 * When a needed row is removed, the next one of the reserve moves up without a read. When the
 * reserve is used up and there may be more rows, the window is short and must be filled again.
 *
 * Invariant: the window holds a prefix of the result without a gap. Either it holds all rows, or
 * there is a bound: every row up to the bound is in the window, and the rows behind it are unknown.
 */

import type { Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import type { Window } from "../run/sort.ts";
import type { Datum } from "../value/datum.ts";

/** A row by the document that it comes from. */
export interface HeldRow {
  readonly id: Value;
  readonly idKey: string;
  /** Its sort keys. */
  readonly keys: readonly Datum[];
  /** Its document, while it is needed. */
  document: StoredDocument | undefined;
  /** Its projection; computed when the row is returned. */
  item: Value | undefined;
  /** Memory in use, including the item if there is one. */
  bytes: number;
}

export type CompareKeys = (a: readonly Datum[], b: readonly Datum[]) => number;

/** Size of the reserve: as many rows as are needed, within these limits. */
const RESERVE_MIN = 16;
const RESERVE_MAX = 1024;

export class RowWindow {
  readonly #compare: CompareKeys;
  readonly #offset: number;
  /** Number of rows needed from the first one on. */
  readonly needed: number;
  readonly capacity: number;
  #rows: HeldRow[] = [];
  readonly #byKey = new Map<string, HeldRow>();
  /** Undefined when the window holds all rows of the result. */
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

  /** Memory of all rows. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts the growth of a row of the window. */
  charge(row: HeldRow, bytes: number): void {
    row.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Whether a needed row may be missing. */
  get isShort(): boolean {
    return this.#bound !== undefined && this.#rows.length < this.needed;
  }

  /** The rows to return, those inside OFFSET and LIMIT. */
  get given(): readonly HeldRow[] {
    return this.#rows.slice(this.#offset, this.needed);
  }

  /** The order of the result: by the keys, then by id. */
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

  /** `rows` are the first ones of the result in order; `isWhole`: there are no others. */
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

  /** The row of a document; undefined when it is not in the window. */
  find(idKey: string): HeldRow | undefined {
    return this.#byKey.get(idKey);
  }

  /** Whether a row of the window is returned. */
  isGiven(row: HeldRow): boolean {
    const at = this.#placeOf(row);
    return at >= this.#offset && at < this.needed;
  }

  /** Removes a row of the window; returns its position. */
  remove(row: HeldRow): number {
    const at = this.#placeOf(row);
    this.#rows.splice(at, 1);
    this.#byKey.delete(row.idKey);
    this.#bytes -= row.bytes;
    return at;
  }

  /** Inserts a row; returns its position, or undefined if it is behind the bound. */
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

  /** The first position whose row does not come before this one. */
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
