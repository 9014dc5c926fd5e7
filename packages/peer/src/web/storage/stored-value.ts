/**
 * StoredValue: a value that is decoded at its first read. Until then it is a place in the bytes of a
 * page or of a log record.
 *
 * All versions of the page table share the StoredValue of a key that did not change. A checkpoint
 * moves it to the bytes of its new page, so that the bytes of log records are freed. DecodedValues
 * bounds how much of the store is kept decoded.
 */

import { KEY_SIZE_MAX, type Key } from "@bigpeer/engine";
import { assert, ByteReader, PeerError, readCbor, type Value } from "@bigpeer/protocol";
import { sliceOfPage } from "./page-text.ts";

/** Records of a store nest the values of documents in levels of their own. */
const LEVELS_AROUND = 64;

/** Encoded size of the values that are kept decoded, in each of two generations. */
export const DECODED_SIZE_MAX: number = 12 * 1024 * 1024;

/** What a decoded value counts for in addition to its encoded size. */
const VALUE_OVERHEAD = 32;

/** Encoded values with the place that an error names. `check` is called before the first read. */
export interface ValueBytes {
  readonly bytes: Uint8Array;
  /** Names the record in messages. */
  readonly place: string;
  /** Whether the bytes have the checksum of their record; undefined if that is already known. */
  check: (() => boolean) | undefined;
  /** Reads all values; made at the first use. */
  reader?: ByteReader;
}

export class StoredValue {
  #source: ValueBytes;
  #start: number;
  readonly size: number;
  /** Set by DecodedValues, which also removes it again. */
  decoded: Value | undefined;

  constructor(source: ValueBytes, start: number, size: number) {
    this.#source = source;
    this.#start = start;
    this.size = size;
  }

  /** The encoded bytes, as a view. Throws `store.corrupt`. */
  bytes(): Uint8Array {
    const source = this.#source;
    checkBytes(source);
    return source.bytes.subarray(this.#start, this.#start + this.size);
  }

  /** The same bytes lie at another place from now on. */
  move(source: ValueBytes, start: number): void {
    this.#source = source;
    this.#start = start;
  }

  /** Decodes the bytes, without keeping the result. Throws `store.corrupt`. */
  decode(): Value {
    try {
      const reader = readerOf(this.#source);
      reader.seek(this.#start, this.#start + this.size);
      const value = readCbor(reader, LEVELS_AROUND);
      reader.end();
      return value;
    } catch (error) {
      throw this.#corrupt(error);
    }
  }

  #corrupt(error: unknown): unknown {
    if (!(error instanceof PeerError) || error.code === "store.corrupt") return error;
    return corruptRecord(this.#source.place, error);
  }
}

/** Keys are checked when they are written. */
export function assertKey(key: Key): void {
  assert(key.length > 0 && key.length <= KEY_SIZE_MAX, "a key of 1 to KEY_SIZE_MAX bytes");
  for (let i = 0; i < key.length; i++) {
    assert(key.charCodeAt(i) <= 0xff, "a key whose characters are bytes");
  }
}

function readerOf(source: ValueBytes): ByteReader {
  checkBytes(source);
  source.reader ??= new ByteReader(source.bytes, "cbor.malformed", 0, sliceOfPage);
  return source.reader;
}

function checkBytes(source: ValueBytes): void {
  if (source.check === undefined) return;
  if (!source.check()) throw corruptRecord(source.place);
  source.check = undefined;
}

export function corruptRecord(place: string, cause?: unknown): PeerError {
  const message = `the ${place} differs from the one that was written: the data is damaged`;
  return new PeerError("store.corrupt", message, { cause });
}

/**
 * Keeps decoded values in two generations. When the young one is full, the old one is dropped and
 * the young one becomes old. Sizes are those of the encoded values; decoded they take 4 to 8 times
 * as much.
 */
export class DecodedValues {
  readonly #sizeMax: number;
  #old: StoredValue[] = [];
  #young: StoredValue[] = [];
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  read(stored: StoredValue): Value {
    return stored.decoded ?? this.keep(stored, stored.decode());
  }

  keep(stored: StoredValue, value: Value): Value {
    stored.decoded = value;
    this.#young.push(stored);
    this.#size += stored.size + VALUE_OVERHEAD;
    if (this.#size > this.#sizeMax) this.#turnOver();
    return value;
  }

  #turnOver(): void {
    for (const stored of this.#old) stored.decoded = undefined;
    this.#old = this.#young;
    this.#young = [];
    this.#size = 0;
  }
}
