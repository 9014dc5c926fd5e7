/**
 * Iterators over LMDB ranges: entries with decoded values, or keys alone. Both throw if keys are
 * out of order or before the start of the range, as from a damaged page of the tree. LMDB itself
 * checks the end.
 *
 * EntryIterator writes the decoded value into lmdb's entry, which is new at each step, instead of
 * allocating another.
 */

import type { Key, KeyEntry, KeyRange } from "@bigpeer/engine";
import { printKey } from "@bigpeer/engine/store";
import type { Value } from "@bigpeer/protocol";
import type { RecordReader } from "./record-reader.ts";
import type { FieldSet } from "./value-decoder.ts";

/** Its value is first the bytes, then the decoded value. */
interface FreshEntry {
  readonly key: Key;
  value: Value | undefined;
}

export class EntryIterator implements Iterator<KeyEntry> {
  readonly #source: Iterator<FreshEntry>;
  readonly #reader: RecordReader;
  readonly #wanted: FieldSet | undefined;
  readonly #order: KeyOrder;

  constructor(
    source: Iterator<FreshEntry>,
    reader: RecordReader,
    { range, wanted }: { readonly range: KeyRange; readonly wanted: FieldSet | undefined },
  ) {
    this.#source = source;
    this.#reader = reader;
    this.#wanted = wanted;
    this.#order = new KeyOrder(range);
  }

  next(): IteratorResult<KeyEntry> {
    const result = this.#source.next();
    if (result.done === true) return result;
    const entry = result.value;
    this.#order.check(entry.key);
    entry.value = this.#reader.read(entry.value as Uint8Array, entry.key, this.#wanted);
    return result as IteratorResult<KeyEntry>;
  }

  return(): IteratorResult<KeyEntry> {
    this.#source.return?.();
    return { done: true, value: undefined };
  }
}

export class KeyIterator implements Iterator<Key> {
  readonly #source: Iterator<Key>;
  readonly #order: KeyOrder;

  constructor(source: Iterator<Key>, range: KeyRange) {
    this.#source = source;
    this.#order = new KeyOrder(range);
  }

  next(): IteratorResult<Key> {
    const result = this.#source.next();
    if (result.done !== true) this.#order.check(result.value);
    return result;
  }

  return(): IteratorResult<Key> {
    this.#source.return?.();
    return { done: true, value: undefined };
  }
}

/** Checks that keys rise within a range, or fall. LMDB itself checks the end of the range. */
class KeyOrder {
  readonly #isReverse: boolean;
  /** The last key, or the bound of the first one. */
  #last: Key;
  #isBegun = false;

  constructor({ from, to, reverse }: KeyRange) {
    this.#isReverse = reverse === true;
    this.#last = this.#isReverse ? to : from;
  }

  check(key: Key): void {
    const isInOrder = this.#isReverse
      ? key < this.#last
      : key > this.#last || (key === this.#last && !this.#isBegun);
    if (!isInOrder) throw new Error(`expected keys in their order, found ${printKey(key)}`);
    this.#isBegun = true;
    this.#last = key;
  }
}
