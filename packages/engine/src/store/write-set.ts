/**
 * WriteSet: hash map of written keys and values, made for millions of entries.
 *
 * A Map of that many entries copies all of them when it grows, which blocks the event loop for
 * long. So a large set is partitioned by a hash of the keys, and only one partition grows at a
 * time.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key, Writes } from "../platform.ts";

type Part = Map<Key, Value | undefined>;

/** Size at which a set is partitioned: moving this many keys takes about ten milliseconds. */
export const PARTED_AT = 32_768;

/** A power of two: with a million operations each part has about fifty thousand keys. */
const PARTS = 64;

const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

export class WriteSet implements Writes {
  #first: Part = new Map();
  /** Undefined while all keys are in the first part. */
  #parts: Part[] | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Keys of the largest part: the most that one growth copies. */
  get partSize(): number {
    return Math.max(...(this.#parts ?? [this.#first]).map(({ size }) => size));
  }

  get(key: Key): Value | undefined {
    return this.#partOf(key).get(key);
  }

  has(key: Key): boolean {
    return this.#partOf(key).has(key);
  }

  /** True when the key is new. */
  put(key: Key, value: Value | undefined): boolean {
    const part = this.#partOf(key);
    const { size } = part;
    part.set(key, value);
    if (part.size === size) return false;
    this.#size++;
    if (this.#size === PARTED_AT) this.#split();
    return true;
  }

  forEach(take: (value: Value | undefined, key: Key, writes: Writes) => void): void {
    if (this.#parts === undefined) this.#first.forEach(take);
    else for (const part of this.#parts) part.forEach(take);
  }

  entries(): MapIterator<[Key, Value | undefined]> {
    return this.#parts === undefined ? this.#first.entries() : eachOf(this.#parts, entriesOf);
  }

  keys(): MapIterator<Key> {
    return this.#parts === undefined ? this.#first.keys() : eachOf(this.#parts, keysOf);
  }

  values(): MapIterator<Value | undefined> {
    return this.#parts === undefined ? this.#first.values() : eachOf(this.#parts, valuesOf);
  }

  [Symbol.iterator](): MapIterator<[Key, Value | undefined]> {
    return this.entries();
  }

  #partOf(key: Key): Part {
    if (this.#parts === undefined) return this.#first;
    return this.#parts[hashOf(key) & (PARTS - 1)] as Part;
  }

  #split(): void {
    const all = this.#first;
    this.#first = new Map();
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    for (const [key, value] of all) this.#partOf(key).set(key, value);
  }
}

function* eachOf<T>(parts: readonly Part[], of: (part: Part) => MapIterator<T>): MapIterator<T> {
  for (const part of parts) yield* of(part);
}

const entriesOf = (part: Part): MapIterator<[Key, Value | undefined]> => part.entries();
const keysOf = (part: Part): MapIterator<Key> => part.keys();
const valuesOf = (part: Part): MapIterator<Value | undefined> => part.values();

/** FNV-1a, with its upper half folded into the lower one. */
function hashOf(key: Key): number {
  let hash = FNV_START;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), FNV_PRIME);
  return hash ^ (hash >>> 16);
}
