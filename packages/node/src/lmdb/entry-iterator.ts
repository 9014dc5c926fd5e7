/**
 * EntryIterator: entries as lmdb gives them, whose values are lent bytes, with the values decoded.
 *
 * It writes into the entries that come, instead of making others: they are made anew for each step,
 * and a scan has many.
 */

import type { Key, KeyEntry } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import type { FieldSet, ValueDecoder } from "./value-decoder.ts";

/** Its value is first the bytes, then what they say. */
interface FreshEntry {
  readonly key: Key;
  value: Value | undefined;
}

export class EntryIterator implements Iterator<KeyEntry> {
  readonly #source: Iterator<FreshEntry>;
  readonly #decoder: ValueDecoder;
  readonly #wanted: FieldSet | undefined;

  constructor(source: Iterator<FreshEntry>, decoder: ValueDecoder, wanted: FieldSet | undefined) {
    this.#source = source;
    this.#decoder = decoder;
    this.#wanted = wanted;
  }

  next(): IteratorResult<KeyEntry> {
    const result = this.#source.next();
    if (result.done === true) return result;
    const entry = result.value;
    const bytes = entry.value as Uint8Array;
    entry.value =
      this.#wanted === undefined
        ? this.#decoder.decode(bytes, bytes.length)
        : this.#decoder.decodePart(bytes, bytes.length, this.#wanted);
    return result as IteratorResult<KeyEntry>;
  }

  return(): IteratorResult<KeyEntry> {
    this.#source.return?.();
    return { done: true, value: undefined };
  }
}
