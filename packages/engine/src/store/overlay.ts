/**
 * Overlay: writes in memory over a reader. What a request has written is visible to itself, and
 * moves into its group or is dropped as a whole.
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
  /** The kinds of own keys, a bit for each: a read of another kind need not look at any of them. */
  #kinds = 0;
  /** The same for keys that were removed. */
  #removedKinds = 0;
  /** Own keys in order. Undefined while they are few and nobody reads a range. */
  #order: KeyOrder | undefined;
  /** Walks over own entries that are under way: each gives what there was when it began. */
  #walks: Set<OwnWalk> | undefined;
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
    this.#order = other.#order;
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

  /** What a key is before it is written to, for the walks that will come to it. */
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
  /** The next one; undefined at the end. */
  key: Key | undefined;
  /** What was written over since the walk began, as it was then. */
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

/** What is asked for of the reader below. */
interface Asked {
  readonly range: KeyRange;
  readonly fields: readonly string[] | undefined;
}

/** A key begins with the letter of its kind: the bit for it. */
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
