/**
 * OrderedRows: the rows of ORDER BY while they come, all of them or only those that can still be
 * among the first so many.
 *
 * When no more than so many are wanted, a heap holds the best of those that came, the last one in
 * front: a row that comes behind it is forgotten at once, and one that comes before it takes its
 * place. Rows with equal keys stay in the order in which they came, so each has a number. Only what
 * is kept counts against the budget.
 */

import type { Budget } from "../frame/budget.ts";
import type { Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { Datum } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";
import type { Sorter } from "./sort.ts";

export interface OrderedRow<T> {
  readonly row: T;
  /** What it was counted with. */
  readonly bytes: number;
}

interface Entry<T> extends OrderedRow<T> {
  keys: readonly Datum[];
  row: T;
  bytes: number;
  /** The later it came, the higher. */
  number: number;
  /** Where it stands in the heap. */
  at: number;
  /** What no two of them share; undefined where rows may be equal. */
  readonly name: string | undefined;
}

type Before<T> = (a: Entry<T>, b: Entry<T>) => number;

export class OrderedRows<T> {
  readonly #sorter: Sorter;
  readonly #budget: Budget;
  readonly #countMax: number;
  readonly #compare: Before<T>;
  /** In the order in which they came, or a heap when there are as many as are wanted. */
  #entries: Entry<T>[] = [];
  #isHeap = false;
  readonly #byName = new Map<string, Entry<T>>();
  #numbered = 0;
  #bytes = 0;

  /** No more than the first `countMax` rows are wanted; at least one is. */
  constructor(sorter: Sorter, budget: Budget, countMax: number) {
    this.#sorter = sorter;
    this.#budget = budget;
    this.#countMax = countMax;
    const { compare } = sorter;
    this.#compare = (a, b) => compare(a.keys, b.keys) || a.number - b.number;
  }

  /** What all that is kept was counted with. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The keys of a row; undefined when it comes too late to be wanted. It is not kept yet. */
  keysOf(frame: Frame): readonly Datum[] | undefined {
    const last = this.#isHeap ? this.#entries[0] : undefined;
    return last === undefined
      ? this.#sorter.keysOf(frame)
      : this.#sorter.keysBefore(frame, last.keys);
  }

  /**
   * Keeps a row; `bytes` are those of the row without its keys. Of all rows of one name only the
   * first in the order is kept.
   */
  keep(keys: readonly Datum[], row: T, bytes: number, name?: string): void {
    const number = this.#numbered++;
    const all = bytes + sizeOfKeys(keys) + (name === undefined ? 0 : 2 * name.length);
    const known = name === undefined ? undefined : this.#byName.get(name);
    if (known !== undefined) {
      if (this.#sorter.compare(keys, known.keys) >= 0) return;
      this.#count(all - known.bytes);
      Object.assign(known, { keys, row, bytes: all, number });
      if (this.#isHeap) this.#sink(known.at);
      return;
    }
    const entry: Entry<T> = { keys, row, bytes: all, number, at: this.#entries.length, name };
    if (this.#isHeap) this.#replaceLast(entry);
    else this.#add(entry);
    if (name !== undefined) this.#byName.set(name, entry);
  }

  /** All that were kept, in their order. */
  *inOrder(): Steps<readonly OrderedRow<T>[]> {
    const entries = this.#entries;
    this.#entries = [];
    this.#byName.clear();
    return yield* sorted(entries, this.#compare, this.#budget);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0) this.#budget.take(bytes);
    else this.#budget.give(-bytes);
  }

  #add(entry: Entry<T>): void {
    this.#count(entry.bytes);
    this.#entries.push(entry);
    if (this.#entries.length < this.#countMax) return;
    this.#isHeap = true;
    for (let at = (this.#entries.length >> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  #replaceLast(entry: Entry<T>): void {
    const last = this.#entries[0] as Entry<T>;
    this.#count(entry.bytes - last.bytes);
    if (last.name !== undefined) this.#byName.delete(last.name);
    this.#put(entry, 0);
    this.#sink(0);
  }

  #put(entry: Entry<T>, at: number): void {
    entry.at = at;
    this.#entries[at] = entry;
  }

  /** Moves an entry down until all below come before it. */
  #sink(from: number): void {
    const entries = this.#entries;
    const entry = entries[from] as Entry<T>;
    let at = from;
    for (;;) {
      let below = 2 * at + 1;
      let next = entries[below];
      if (next === undefined) break;
      const other = entries[below + 1];
      if (other !== undefined && this.#compare(other, next) > 0) {
        next = other;
        below++;
      }
      if (this.#compare(entry, next) >= 0) break;
      this.#put(next, at);
      at = below;
    }
    this.#put(entry, at);
  }
}

function sizeOfKeys(keys: readonly Datum[]): number {
  let size = 0;
  for (const key of keys) size += memorySize(key);
  return size;
}

/** Rows that are sorted, or merged, in one piece. */
const PIECE_ROWS = 4096;

/** Sorts pieces and merges them, with a pause after each: the whole may take long. */
function* sorted<T>(
  entries: Entry<T>[],
  compare: Before<T>,
  budget: Budget,
): Steps<readonly Entry<T>[]> {
  let runs: Entry<T>[][] = [];
  for (let from = 0; from < entries.length; from += PIECE_ROWS) {
    const run = entries.length <= PIECE_ROWS ? entries : entries.slice(from, from + PIECE_ROWS);
    budget.step(run.length);
    runs.push(run.sort(compare));
    if (entries.length > PIECE_ROWS) yield;
  }
  while (runs.length > 1) {
    const merged: Entry<T>[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left, right] = [runs[i] as Entry<T>[], runs[i + 1]];
      merged.push(right === undefined ? left : yield* mergeRuns(left, right, { compare, budget }));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

interface Merging<T> {
  readonly compare: Before<T>;
  readonly budget: Budget;
}

function* mergeRuns<T>(
  left: readonly Entry<T>[],
  right: readonly Entry<T>[],
  { compare, budget }: Merging<T>,
): Steps<Entry<T>[]> {
  const merged: Entry<T>[] = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    const a = left[i];
    const b = right[j];
    if (b === undefined || (a !== undefined && compare(a, b) < 0)) {
      merged.push(a as Entry<T>);
      i++;
    } else {
      merged.push(b);
      j++;
    }
    if (merged.length % PIECE_ROWS !== 0) continue;
    budget.step(PIECE_ROWS);
    yield;
  }
  return merged;
}
