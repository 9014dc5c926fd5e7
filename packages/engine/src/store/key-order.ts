/**
 * KeyOrder: a growing set of keys that can be walked in order, kept as sorted runs.
 *
 * A run is sorted when it is full and never changed again. So adding a key is cheap, a lookup never
 * sorts all keys, and a walk continues on the runs that it started with.
 */

import type { Key, KeyRange } from "../platform.ts";

/** Keys of a run: sorting this many takes a few milliseconds. */
export const RUN_MAX = 4096;

/** Unsorted keys that a walk may scan one by one. */
const RECENT_MAX = 256;

/** Up to this many keys are sorted before a walk begins; more are merged as it goes. */
const AT_ONCE_MAX = 1024;

/** A part of a run. */
interface Part {
  readonly keys: readonly Key[];
  /** Index of the next key. */
  at: number;
  /** Index behind the last key, in the direction of the walk. */
  readonly end: number;
}

export class KeyOrder {
  /** Each sorted; short runs are combined up to RUN_MAX keys. */
  readonly #runs: (readonly Key[])[] = [];
  /** Keys added since the last run, unsorted. */
  #recent: Key[] = [];

  /** `key` must be new. */
  add(key: Key): void {
    this.#recent.push(key);
    if (this.#recent.length >= RUN_MAX) this.#cut();
  }

  /** The keys of a range in its order. Keys added later are not among them. */
  walk(range: KeyRange): Iterator<Key, undefined> {
    if (this.#recent.length > RECENT_MAX) this.#cut();
    const step = range.reverse === true ? -1 : 1;
    const parts: Part[] = [];
    let count = 0;
    for (const run of this.#runs) {
      const part = partOf(run, range, step);
      if (part === undefined) continue;
      parts.push(part);
      count += Math.abs(part.end - part.at);
    }
    const recent = this.#recent.filter((key) => key >= range.from && key < range.to);
    if (recent.length > 0) parts.push(wholePart(recent.sort(), step));
    if (parts.length > 1 && count <= AT_ONCE_MAX) {
      return walkPart(wholePart(parts.flatMap((part) => keysOf(part)).sort(), step), step);
    }
    const [only] = parts;
    if (only === undefined) return NOTHING;
    return parts.length === 1 ? walkPart(only, step) : walkAll(parts, step);
  }

  #cut(): void {
    const sorted = this.#recent.sort();
    this.#recent = [];
    const last = this.#runs.at(-1);
    if (last === undefined || last.length + sorted.length > RUN_MAX) this.#runs.push(sorted);
    else this.#runs[this.#runs.length - 1] = [...last, ...sorted].sort();
  }
}

const NOTHING: Iterator<Key, undefined> = { next: () => ({ done: true, value: undefined }) };

type Direction = 1 | -1;

function partOf(run: readonly Key[], { from, to }: KeyRange, step: Direction): Part | undefined {
  const [first, last] = [run[0], run.at(-1)];
  if (first === undefined || last === undefined || last < from || first >= to) return undefined;
  const low = firstAtOrAfter(run, from);
  const high = firstAtOrAfter(run, to);
  if (low >= high) return undefined;
  return step > 0 ? { keys: run, at: low, end: high } : { keys: run, at: high - 1, end: low - 1 };
}

function wholePart(keys: readonly Key[], step: Direction): Part {
  const { length } = keys;
  return step > 0 ? { keys, at: 0, end: length } : { keys, at: length - 1, end: -1 };
}

/** In no particular order. */
function keysOf({ keys, at, end }: Part): readonly Key[] {
  return at < end ? keys.slice(at, end) : keys.slice(end + 1, at + 1);
}

function walkPart(part: Part, step: Direction): Iterator<Key, undefined> {
  return {
    next: () => {
      if (part.at === part.end) return { done: true, value: undefined };
      const value = part.keys[part.at] as Key;
      part.at += step;
      return { done: false, value };
    },
  };
}

/** K-way merge: the parts are in a heap, the one with the next key on top. */
function walkAll(heap: Part[], step: Direction): Iterator<Key, undefined> {
  for (let i = (heap.length >> 1) - 1; i >= 0; i--) sink(heap, i, step);
  return {
    next: () => {
      const top = heap[0];
      if (top === undefined) return { done: true, value: undefined };
      const value = top.keys[top.at] as Key;
      top.at += step;
      if (top.at === top.end) {
        const last = heap.pop() as Part;
        if (last !== top) heap[0] = last;
      }
      sink(heap, 0, step);
      return { done: false, value };
    },
  };
}

function sink(heap: Part[], from: number, step: Direction): void {
  let place = from;
  for (;;) {
    let first = place;
    for (const kid of [2 * place + 1, 2 * place + 2]) {
      if (kid < heap.length && isBefore(heap[kid], heap[first], step)) first = kid;
    }
    if (first === place) return;
    [heap[place], heap[first]] = [heap[first] as Part, heap[place] as Part];
    place = first;
  }
}

function isBefore(a: Part | undefined, b: Part | undefined, step: Direction): boolean {
  const left = a?.keys[a.at] as Key;
  const right = b?.keys[b.at] as Key;
  return step > 0 ? left < right : left > right;
}

function firstAtOrAfter(sorted: readonly Key[], key: Key): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as Key) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
