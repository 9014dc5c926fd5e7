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
  /** The kinds of own keys, a bit for each: a read of another kind need not look at any of them. */
  #kinds = 0;
  /** The same for keys that were removed. */
  #removedKinds = 0;
  /** Own keys in order, but for those in #recent. Undefined until somebody reads a range. */
  #sorted: Key[] | undefined;
  /** Own keys that came since, in no order; few, so that a range read need not sort them all. */
  #recent: Key[] | undefined;
  /** Ranges in which the reader below has nothing. */
  #vacant: KeyRange[] | undefined;
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

  /**
   * Many keys of this range will be asked for. If the reader below has none of them, it is not asked
   * again; it must not change meanwhile.
   */
  expect(range: KeyRange): void {
    for (const _ of this.#parent.keys(range)) return;
    this.#vacant ??= [];
    this.#vacant.push(range);
  }

  put(key: Key, value: Value): void {
    this.onWrite?.();
    this.#set(key, value);
  }

  remove(key: Key): void {
    this.onWrite?.();
    this.#set(key, undefined);
  }

  /** Takes over all that another overlay wrote, which is not used from then on. */
  absorb(other: Overlay): void {
    if (!this.isEmpty) {
      other.#writes.forEach((value, key) => this.#set(key, value));
      return;
    }
    this.#writes = other.#writes;
    this.#kinds = other.#kinds;
    this.#removedKinds = other.#removedKinds;
    this.#sorted = undefined;
    this.#recent = undefined;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const own = this.#writes.get(key);
    if (own !== undefined || this.#isRemoved(key) || this.#isVacant(key)) return own;
    return this.#parent.get(key, fields);
  }

  #isRemoved(key: Key): boolean {
    return (this.#removedKinds & kindOf(key)) !== 0 && this.#writes.has(key);
  }

  #isVacant(key: Key): boolean {
    if (this.#vacant === undefined) return false;
    for (const { from, to } of this.#vacant) if (key >= from && key < to) return true;
    return false;
  }

  has(key: Key): boolean {
    return this.#writes.has(key) ? this.#writes.get(key) !== undefined : this.#parent.has(key);
  }

  /** The state when the walk began: what is written meanwhile does not show in it. */
  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    const own = this.#ownEntries(range);
    if (own.length === 0) return this.#parent.entries(range, fields);
    return this.#merged({ range, fields }, own);
  }

  keys(range: KeyRange): Iterable<Key> {
    const own = this.#ownEntries(range);
    if (own.length === 0) return this.#parent.keys(range);
    return keysOf(this.#merged({ range, fields: NO_FIELDS }, own));
  }

  *#merged({ range, fields }: Asked, own: readonly OwnEntry[]): Iterable<KeyEntry> {
    const isBefore = range.reverse === true ? isAbove : isBelow;
    let next = 0;
    for (const entry of this.#parent.entries(range, fields)) {
      for (; isBefore(own[next]?.key, entry.key); next++) yield* present(own[next]);
      if (own[next]?.key === entry.key) yield* present(own[next++]);
      else yield entry;
    }
    for (; next < own.length; next++) yield* present(own[next]);
  }

  #set(key: Key, value: Value | undefined): void {
    const { size } = this.#writes;
    this.#writes.set(key, value);
    if (value === undefined) this.#removedKinds |= kindOf(key);
    if (this.#writes.size === size) return;
    this.#kinds |= kindOf(key);
    this.#recent?.push(key);
  }

  #ownEntries(range: KeyRange): readonly OwnEntry[] {
    const kind = kindOf(range.from);
    if (kind === kindOf(range.to) && (this.#kinds & kind) === 0) return NOTHING;
    return this.#ownKeys(range).map((key) => ({ key, value: this.#writes.get(key) }));
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

/** What is asked for of the reader below. */
interface Asked {
  readonly range: KeyRange;
  readonly fields: readonly string[] | undefined;
}

/** What was written under a key; undefined when it was removed. */
interface OwnEntry {
  readonly key: Key;
  readonly value: Value | undefined;
}

const NOTHING: readonly OwnEntry[] = [];

/** A key begins with the letter of its kind: the bit for it. */
function kindOf(key: Key): number {
  return 1 << (key.charCodeAt(0) & 31);
}

function* keysOf(entries: Iterable<KeyEntry>): Iterable<Key> {
  for (const { key } of entries) yield key;
}

const NO_FIELDS: readonly string[] = [];

/** How many keys a range read may look through one by one. */
const RECENT_MAX = 256;

function* present(entry: OwnEntry | undefined): Iterable<KeyEntry> {
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
