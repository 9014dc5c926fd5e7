/**
 * Overlay: uncommitted writes in memory over a reader, like a memtable. A request sees its own
 * writes; they move into its group or are dropped as a whole.
 *
 * Overlays stack: request over group, group over the group that is being flushed, that over the
 * durable state.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key, KeyEntry, KeyRange, Reader, Writes } from "../platform.ts";
import { KeyOrder, RUN_MAX } from "./key-order.ts";
import { WriteSet } from "./write-set.ts";

export class Overlay implements Reader {
  #writes = new WriteSet();
  #parent: Reader;
  /** Bit set of the kinds of own keys: a read of another kind need not look at any of them. */
  #kinds = 0;
  /** The same for removed keys. */
  #removedKinds = 0;
  /** Own keys in order. Undefined while they are few and no range is read. */
  #order: KeyOrder | undefined;
  /** Walks over own entries under way: each sees the state at its start. */
  #walks: Set<OwnWalk> | undefined;
  /** Ranges in which the reader below has no keys. */
  #vacant: KeyRange[] | undefined;
  /** Called before each write; if it throws, the request fails. */
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

  /** Replaces the reader below; the new one must already hold what the old one added. */
  rebase(parent: Reader): void {
    this.#parent = parent;
  }

  /**
   * Announces many reads in a range. If the reader below has no key in it, it is not asked again;
   * it must not change meanwhile.
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

  /** Takes over all writes of another overlay, which must not be used afterwards. */
  absorb(other: Overlay): void {
    if (!this.isEmpty) {
      other.#writes.forEach((value, key) => this.#set(key, value));
      return;
    }
    this.#writes = other.#writes;
    this.#kinds = other.#kinds;
    this.#removedKinds = other.#removedKinds;
    this.#order = other.#order;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const kind = kindOf(key);
    if ((this.#kinds & kind) !== 0) {
      const own = this.#writes.get(key);
      if (own !== undefined) return own;
      if ((this.#removedKinds & kind) !== 0 && this.#writes.has(key)) return undefined;
    }
    return this.#isVacant(key) ? undefined : this.#parent.get(key, fields);
  }

  #isVacant(key: Key): boolean {
    if (this.#vacant === undefined) return false;
    for (const { from, to } of this.#vacant) if (key >= from && key < to) return true;
    return false;
  }

  has(key: Key): boolean {
    return this.#writes.has(key) ? this.#writes.get(key) !== undefined : this.#parent.has(key);
  }

  /** Entries as of the start of the walk: later writes do not show in it. */
  entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    const own = this.#walk(range);
    if (own === undefined) return this.#parent.entries(range, fields);
    return this.#merged({ range, fields }, own);
  }

  keys(range: KeyRange): Iterable<Key> {
    const own = this.#walk(range);
    if (own === undefined) return this.#parent.keys(range);
    return keysOf(this.#merged({ range, fields: NO_FIELDS }, own));
  }

  *#merged({ range, fields }: Asked, own: OwnWalk): Iterable<KeyEntry> {
    const isBefore = range.reverse === true ? isAbove : isBelow;
    try {
      for (const entry of this.#parent.entries(range, fields)) {
        for (; isBefore(own.key, entry.key); own.next()) yield* this.#present(own);
        if (own.key === entry.key) {
          yield* this.#present(own);
          own.next();
        } else yield entry;
      }
      for (; own.key !== undefined; own.next()) yield* this.#present(own);
    } finally {
      this.#walks?.delete(own);
      if (this.#walks?.size === 0) this.#walks = undefined;
    }
  }

  #set(key: Key, value: Value | undefined): void {
    if (this.#walks !== undefined) this.#keepFor(this.#walks, key);
    const isNew = this.#writes.put(key, value);
    if (value === undefined) this.#removedKinds |= kindOf(key);
    if (!isNew) return;
    this.#kinds |= kindOf(key);
    if (this.#order !== undefined) this.#order.add(key);
    else if (this.#writes.size === RUN_MAX) this.#order = orderOf(this.#writes.keys());
  }

  /** Saves the value of a key before a write, for the walks that have not reached it. */
  #keepFor(walks: ReadonlySet<OwnWalk>, key: Key): void {
    for (const { before } of walks) {
      if (!before.has(key)) before.set(key, this.#writes.get(key));
    }
  }

  /** Undefined when there is nothing to walk over. */
  #walk(range: KeyRange): OwnWalk | undefined {
    const kind = kindOf(range.from);
    if (this.isEmpty || (kind === kindOf(range.to) && (this.#kinds & kind) === 0)) return undefined;
    this.#order ??= orderOf(this.#writes.keys());
    const walk = new OwnWalk(this.#order.walk(range));
    if (walk.key === undefined) return undefined;
    this.#walks ??= new Set();
    this.#walks.add(walk);
    return walk;
  }

  *#present({ key, before }: OwnWalk): Iterable<KeyEntry> {
    if (key === undefined) return;
    const value = before.has(key) ? before.get(key) : this.#writes.get(key);
    if (value !== undefined) yield { key, value };
  }
}

/** A walk over own keys. */
class OwnWalk {
  readonly #keys: Iterator<Key, undefined>;
  /** The next key; undefined at the end. */
  key: Key | undefined;
  /** Values that were overwritten since the walk began. */
  readonly before: Map<Key, Value | undefined> = new Map();

  constructor(keys: Iterator<Key, undefined>) {
    this.#keys = keys;
    this.next();
  }

  next(): void {
    this.key = this.#keys.next().value;
  }
}

function orderOf(keys: Iterable<Key>): KeyOrder {
  const order = new KeyOrder();
  for (const key of keys) order.add(key);
  return order;
}

/** A range read of the reader below. */
interface Asked {
  readonly range: KeyRange;
  readonly fields: readonly string[] | undefined;
}

/** The bit of a kind: a key begins with the letter of its kind. */
function kindOf(key: Key): number {
  return 1 << (key.charCodeAt(0) & 31);
}

function* keysOf(entries: Iterable<KeyEntry>): Iterable<Key> {
  for (const { key } of entries) yield key;
}

const NO_FIELDS: readonly string[] = [];

function isBelow(a: Key | undefined, b: Key): boolean {
  return a !== undefined && a < b;
}

function isAbove(a: Key | undefined, b: Key): boolean {
  return a !== undefined && a > b;
}
