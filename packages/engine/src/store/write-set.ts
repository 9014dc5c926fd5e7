/**
 * WriteSet: the keys that were written with their values, of which there may be millions.
 *
 * A Map of so many entries copies all of them when it grows, which takes long, and nobody else has a turn
 * meanwhile. So a large set is parted by a hash of the keys, and only one part grows at a time.
 */

import type { Value } from "@bigpeer/protocol";
import type { Key, Writes } from "../platform.ts";

type Part = Map<Key, Value | undefined>;

/** Keys of a set that becomes a parted one: moving them takes about ten milliseconds. */
export const PARTED_AT = 32_768;

/** A power of two: of a million operations each part has about fifty thousand keys. */
const PARTS = 64;

const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

export class WriteSet implements Writes {
  #first: Part = new Map();
  /** Undefined while all are in the first. */
  #parts: Part[] | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Keys of the largest part: as many are copied when it grows. */
  get partSize(): number {
    return Math.max(...(this.#parts ?? [this.#first]).map(({ size }) => size));
  }

  get(key: Key): Value | undefined {
    return this.#partOf(key).get(key);
  }

  has(key: Key): boolean {
    return this.#partOf(key).has(key);
  }

  /** Whether the key is new. */
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

/** FNV-1a, with its upper half in the lower one. */
function hashOf(key: Key): number {
  let hash = FNV_START;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), FNV_PRIME);
  return hash ^ (hash >>> 16);
}
