/**
 * OrderedRows: buffer of ORDER BY, which keeps all rows, or with LIMIT only the first N (top-N
 * heap).
 *
 * The heap holds the best N rows so far with the last of them at its root. A row behind the root is
 * dropped at once; a row before it replaces it. Rows with equal keys keep their order of arrival,
 * so each has a number. Only kept rows count against the budget. Parallel arrays hold the rows,
 * rather than one object each, since there may be many.
 */

import { assert } from "@bigpeer/protocol";
import type { Budget } from "../frame/budget.ts";
import type { Frame } from "../frame/frame.ts";
import { type ComesBefore, mergeSorted } from "../frame/merge-sort.ts";
import type { Steps } from "../frame/steps.ts";
import { compareData } from "../value/compare.ts";
import type { Datum } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";
import type { Comparison, Sorter } from "./sort.ts";

export class OrderedRows<T> {
  readonly #sorter: Sorter;
  readonly #budget: Budget;
  readonly #countMax: number;
  readonly #rows: T[] = [];
  /** The keys: one array for each term of ORDER BY. */
  readonly #keys: readonly Datum[][];
  readonly #sizes: number[] = [];
  /** Order of arrival. */
  readonly #numbers: number[] = [];
  #numbered = 0;
  #bytes = 0;
  /** Positions, the last row at the root; undefined while there are fewer rows than `countMax`. */
  #heap: number[] | undefined;
  /** Index of a position in the heap. */
  readonly #heights: number[] = [];
  /** The keys of the last row. */
  #last: readonly Datum[] | undefined;
  /** Only for DISTINCT. */
  readonly #names: string[] = [];
  readonly #byName = new Map<string, number>();

  /** Keeps the first `countMax` rows, at least one. */
  constructor(sorter: Sorter, budget: Budget, countMax: number) {
    this.#sorter = sorter;
    this.#budget = budget;
    this.#countMax = countMax;
    this.#keys = sorter.comparisons.map(() => []);
  }

  /** Bytes counted for all kept rows. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The keys of a row; undefined when it is behind the last wanted one. Does not keep the row. */
  keysOf(frame: Frame): readonly Datum[] | undefined {
    return this.#last === undefined
      ? this.#sorter.keysOf(frame)
      : this.#sorter.keysBefore(frame, this.#last);
  }

  /** Keeps a row with its keys; `bytes` are those of the row without its keys. */
  keep(keys: readonly Datum[], row: T, bytes: number): void {
    const all = bytes + sizeOfKeys(keys);
    if (this.#heap === undefined) {
      this.#count(all);
      this.#put(this.#rows.length, keys, row, all);
      if (this.#rows.length >= this.#countMax) this.#startHeap();
      return;
    }
    const place = this.#heap[0] as number;
    this.#count(all - (this.#sizes[place] as number));
    this.#put(place, keys, row, all);
    this.#sink(0);
  }

  /** The same for DISTINCT: of all rows of one name it keeps the first in the order. */
  keepDistinct(keys: readonly Datum[], row: T, bytes: number, name: string): void {
    const all = bytes + 2 * name.length;
    const known = this.#byName.get(name);
    if (known === undefined) {
      const place = this.#heap?.[0] ?? this.#rows.length;
      const dropped = this.#names[place];
      this.keep(keys, row, all);
      if (dropped !== undefined) this.#byName.delete(dropped);
      this.#names[place] = name;
      this.#byName.set(name, place);
    } else if (this.#comparePlace(known, keys) > 0) {
      const size = all + sizeOfKeys(keys);
      this.#count(size - (this.#sizes[known] as number));
      this.#put(known, keys, row, size);
      if (this.#heap !== undefined) this.#sink(this.#heights[known] as number);
    }
  }

  /** The positions of all kept rows in order. No row may be added after it. */
  *inOrder(): Steps<Uint32Array> {
    const places = new Uint32Array(this.#rows.length);
    for (let i = 0; i < places.length; i++) places[i] = i;
    return yield* mergeSorted(places, this.#comesBefore(), this.#budget);
  }

  rowAt(place: number): T {
    return this.#rows[place] as T;
  }

  /** Bytes counted for the row. */
  sizeAt(place: number): number {
    return this.#sizes[place] as number;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0) this.#budget.take(bytes);
    else this.#budget.give(-bytes);
  }

  #put(place: number, keys: readonly Datum[], row: T, size: number): void {
    this.#rows[place] = row;
    this.#sizes[place] = size;
    this.#numbers[place] = this.#numbered++;
    for (let i = 0; i < keys.length; i++) (this.#keys[i] as Datum[])[place] = keys[i];
  }

  #comparePlace(place: number, keys: readonly Datum[]): number {
    const { comparisons } = this.#sorter;
    for (let i = 0; i < comparisons.length; i++) {
      const order = (comparisons[i] as Comparison)(this.#keys[i]?.[place], keys[i]);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Compares two rows from the term `from` on. Never 0 for two different rows. */
  #compare(a: number, b: number, from: number = 0): number {
    const { comparisons } = this.#sorter;
    for (let i = from; i < comparisons.length; i++) {
      const keys = this.#keys[i] as Datum[];
      const order = (comparisons[i] as Comparison)(keys[a], keys[b]);
      if (order !== 0) return order;
    }
    return (this.#numbers[a] as number) - (this.#numbers[b] as number);
  }

  /** If all first keys are numbers, or all texts, they alone order most rows. */
  #comesBefore(): ComesBefore {
    const { isDescending } = this.#sorter;
    const first = this.#keys[0] ?? [];
    const numbers = numbersOf(first, isDescending);
    if (numbers === undefined && areTexts(first)) {
      return (a, b) => {
        const x = first[a];
        const y = first[b];
        if (x === y) return this.#compare(a, b, 1) < 0;
        return isDescending ? compareData(y, x) < 0 : compareData(x, y) < 0;
      };
    }
    if (numbers === undefined) return (a, b) => this.#compare(a, b) < 0;
    return (a, b) => {
      const x = numbers[a] as number;
      const y = numbers[b] as number;
      return x < y || (x === y && this.#compare(a, b, 1) < 0);
    };
  }

  #startHeap(): void {
    this.#heap = [...this.#rows.keys()];
    for (const place of this.#heap) this.#heights[place] = place;
    for (let at = this.#heap.length >> 1; at >= 0; at--) this.#sink(at);
  }

  /** Sifts a position down in the heap until all below come before it. */
  #sink(from: number): void {
    const heap = this.#heap;
    assert(heap !== undefined, "as many rows as are wanted");
    const place = heap[from] as number;
    let at = from;
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      const other = heap[below + 1];
      if (other !== undefined && this.#compare(other, heap[below] as number) > 0) below++;
      const next = heap[below] as number;
      if (this.#compare(place, next) >= 0) break;
      heap[at] = next;
      this.#heights[next] = at;
      at = below;
    }
    heap[at] = place;
    this.#heights[place] = at;
    const last = heap[0] as number;
    this.#last = this.#keys.map((keys) => keys[last]);
  }
}

function sizeOfKeys(keys: readonly Datum[]): number {
  let size = 0;
  for (const key of keys) size += memorySize(key);
  return size;
}

/** Keys negated for DESC; undefined unless all are numbers other than NaN. */
function numbersOf(keys: readonly Datum[], isDescending: boolean): Float64Array | undefined {
  const numbers = new Float64Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key !== "number" || Number.isNaN(key)) return undefined;
    numbers[i] = isDescending ? -key : key;
  }
  return numbers;
}

function areTexts(keys: readonly Datum[]): keys is readonly string[] {
  return keys.every((key) => typeof key === "string");
}
