/**
 * Incremental CBOR encoder: the same bytes as encodeCbor and canonicalBytes, from a generator that
 * pauses regularly, for messages of many megabytes.
 */

import { ByteWriter } from "./bytes.ts";
import { type KeyOrder, MAJOR, writeHead, writeText, writeValue } from "./cbor.ts";
import { isArray, sortedKeys, type Value, type ValueObject } from "./value.ts";

/** Items, and bytes, between two possible pauses: less than a millisecond. */
const ITEMS_PER_PAUSE = 1024;
const BYTES_PER_PAUSE = 64 * 1024;

type Incremental<T> = Generator<void, T, void>;

export function encodeCborIncremental(value: Value): Incremental<Uint8Array> {
  return written(value, Object.keys);
}

export function canonicalBytesIncremental(value: Value): Incremental<Uint8Array> {
  return written(value, sortedKeys);
}

function* written(value: Value, keysOf: KeyOrder): Incremental<Uint8Array> {
  const writing = new Writing(keysOf);
  yield* writing.write(value);
  return writing.writer.finish();
}

class Writing {
  readonly writer: ByteWriter = new ByteWriter(256);
  readonly #keysOf: KeyOrder;
  #items = 0;
  #pausedAt = 0;

  constructor(keysOf: KeyOrder) {
    this.#keysOf = keysOf;
  }

  *write(value: Value): Incremental<void> {
    if (!isCompound(value)) writeValue(this.writer, value, this.#keysOf);
    else if (isArray(value)) {
      writeHead(this.writer, MAJOR.array, value.length);
      for (const element of value) yield* this.#item(element);
    } else yield* this.#object(value);
  }

  *#object(object: ValueObject): Incremental<void> {
    const keys = this.#keysOf(object);
    writeHead(this.writer, MAJOR.map, keys.length);
    for (const key of keys) {
      writeText(this.writer, key);
      yield* this.#item(object[key] as Value);
    }
  }

  *#item(value: Value): Incremental<void> {
    if (isCompound(value)) yield* this.write(value);
    else writeValue(this.writer, value, this.#keysOf);
    if (this.#isPauseDue()) yield;
  }

  #isPauseDue(): boolean {
    const { size } = this.writer;
    const isDue = ++this.#items > ITEMS_PER_PAUSE || size - this.#pausedAt > BYTES_PER_PAUSE;
    if (!isDue) return false;
    this.#items = 0;
    this.#pausedAt = size;
    return true;
  }
}

function isCompound(value: Value): value is readonly Value[] | ValueObject {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}
