/**
 * Overlay: writes in memory over a reader. What a request has written is visible to itself, and
 * moves into its group or is dropped as a whole.
 *
 * Overlays stack: request over group, group over the group that is being flushed, that over the
 * durable state.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key, KeyEntry, KeyRange, Reader, Writes } from "../platform.ts";

export class Overlay implements Reader {
  readonly #writes = new Map<Key, Value | undefined>();
  #parent: Reader;
  /** Own keys in order; undefined when something was written since they were sorted. */
  #sorted: Key[] | undefined;

  constructor(parent: Reader) {
    this.#parent = parent;
  }

  get writes(): Writes {
    return this.#writes;
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0;
  }

  /** Reads go to another reader from now on, which must already hold what the old one added. */
  rebase(parent: Reader): void {
    this.#parent = parent;
  }

  put(key: Key, value: Value): void {
    this.#sorted = undefined;
    this.#writes.set(key, value);
  }

  remove(key: Key): void {
    this.#sorted = undefined;
    this.#writes.set(key, undefined);
  }

  /** Takes over all that another overlay wrote. */
  absorb(other: Overlay): void {
    if (other.isEmpty) return;
    this.#sorted = undefined;
    for (const [key, value] of other.#writes) this.#writes.set(key, value);
  }

  get(key: Key): Value | undefined {
    const own = this.#writes.get(key);
    if (own !== undefined || this.#writes.has(key)) return own;
    return this.#parent.get(key);
  }

  has(key: Key): boolean {
    return this.#writes.has(key) ? this.#writes.get(key) !== undefined : this.#parent.has(key);
  }

  *entries(range: KeyRange): Iterable<KeyEntry> {
    const own = this.#ownKeys(range);
    if (own.length === 0) {
      yield* this.#parent.entries(range);
      return;
    }
    const isBefore = range.reverse === true ? isAbove : isBelow;
    let next = 0;
    for (const entry of this.#parent.entries(range)) {
      for (; next < own.length && isBefore(own[next], entry.key); next++) {
        yield* this.#ownEntry(own[next]);
      }
      if (own[next] === entry.key) yield* this.#ownEntry(own[next++]);
      else yield entry;
    }
    for (; next < own.length; next++) yield* this.#ownEntry(own[next]);
  }

  *keys(range: KeyRange): Iterable<Key> {
    if (this.#ownKeys(range).length === 0) {
      yield* this.#parent.keys(range);
      return;
    }
    for (const entry of this.entries(range)) yield entry.key;
  }

  *#ownEntry(key: Key | undefined): Iterable<KeyEntry> {
    const value = key === undefined ? undefined : this.#writes.get(key);
    if (key !== undefined && value !== undefined) yield { key, value };
  }

  #ownKeys(range: KeyRange): Key[] {
    if (this.#writes.size === 0) return [];
    this.#sorted ??= [...this.#writes.keys()].sort();
    const from = firstAtOrAfter(this.#sorted, range.from);
    const own = this.#sorted.slice(from, firstAtOrAfter(this.#sorted, range.to));
    return range.reverse === true ? own.toReversed() : own;
  }
}

function isBelow(a: Key | undefined, b: Key): boolean {
  return a !== undefined && a < b;
}

function isAbove(a: Key | undefined, b: Key): boolean {
  return a !== undefined && a > b;
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
