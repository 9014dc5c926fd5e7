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
  #writes = new Map<Key, Value | undefined>();
  #parent: Reader;
  /** Own keys in order, but for those in #recent. Undefined until somebody reads a range. */
  #sorted: Key[] | undefined;
  /** Own keys that came since, in no order; few, so that a range read need not sort them all. */
  #recent: Key[] | undefined;
  /** Called before each write; what it throws ends the request. */
  onWrite: (() => void) | undefined;

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
    this.onWrite?.();
    this.#set(key, value);
  }

  remove(key: Key): void {
    this.onWrite?.();
    this.#set(key, undefined);
  }

  /** Takes over all that another overlay wrote, which is not written to again. */
  absorb(other: Overlay): void {
    if (this.#writes.size > 0) {
      for (const [key, value] of other.#writes) this.#set(key, value);
      return;
    }
    this.#writes = other.#writes;
    this.#sorted = undefined;
    this.#recent = undefined;
  }

  get(key: Key): Value | undefined {
    const own = this.#writes.get(key);
    if (own !== undefined || this.#writes.has(key)) return own;
    return this.#parent.get(key);
  }

  has(key: Key): boolean {
    return this.#writes.has(key) ? this.#writes.get(key) !== undefined : this.#parent.has(key);
  }

  /** The state when the walk began: what is written meanwhile does not show in it. */
  *entries(range: KeyRange): Iterable<KeyEntry> {
    const own = this.#ownKeys(range).map((key) => ({ key, value: this.#writes.get(key) }));
    if (own.length === 0) {
      yield* this.#parent.entries(range);
      return;
    }
    const isBefore = range.reverse === true ? isAbove : isBelow;
    let next = 0;
    for (const entry of this.#parent.entries(range)) {
      for (; isBefore(own[next]?.key, entry.key); next++) yield* present(own[next]);
      if (own[next]?.key === entry.key) yield* present(own[next++]);
      else yield entry;
    }
    for (; next < own.length; next++) yield* present(own[next]);
  }

  *keys(range: KeyRange): Iterable<Key> {
    if (this.#ownKeys(range).length === 0) {
      yield* this.#parent.keys(range);
      return;
    }
    for (const entry of this.entries(range)) yield entry.key;
  }

  #set(key: Key, value: Value | undefined): void {
    const { size } = this.#writes;
    this.#writes.set(key, value);
    if (this.#recent !== undefined && this.#writes.size > size) this.#recent.push(key);
  }

  #ownKeys(range: KeyRange): Key[] {
    if (this.#writes.size === 0) return [];
    const sorted = this.#settled();
    const from = firstAtOrAfter(sorted, range.from);
    const own = sorted.slice(from, firstAtOrAfter(sorted, range.to));
    const recent = (this.#recent ?? []).filter((key) => key >= range.from && key < range.to);
    const keys = recent.length === 0 ? own : [...own, ...recent].sort();
    return range.reverse === true ? keys.toReversed() : keys;
  }

  /** The keys in order, all but a few recent ones. */
  #settled(): readonly Key[] {
    const sorted = this.#sorted;
    const recent = this.#recent ?? [];
    if (sorted !== undefined && recent.length <= RECENT_MAX) return sorted;
    const keys = sorted === undefined ? [...this.#writes.keys()] : [...sorted, ...recent];
    this.#sorted = keys.sort();
    this.#recent = [];
    return keys;
  }
}

/** How many keys a range read may look through one by one. */
const RECENT_MAX = 256;

function* present(
  entry:
    | {
        readonly key: Key;
        readonly value: Value | undefined;
      }
    | undefined,
): Iterable<KeyEntry> {
  if (entry?.value !== undefined) yield { key: entry.key, value: entry.value };
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
