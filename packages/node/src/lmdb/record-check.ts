/**
 * RecordCheck: writes and verifies the checksum in front of every stored record, over key and
 * bytes.
 *
 *   c1  sum₄  value      sum: XXH32 of the value, little-endian; its seed is FNV-1a of the key
 *
 * No MessagePack value and no list in CBOR begins with c1, so the first byte distinguishes records
 * from before there were checksums. A storage that may still have such records is lenient; even
 * then the checksum reveals a record whose first byte alone was damaged. In a strict storage, a
 * record without a checksum is damage.
 *
 * XXH32 takes a multiplication or two for four bytes, which a scan in JS can afford. It detects
 * every change within one aligned word of four bytes, and others except for one in four thousand
 * million.
 */

import type { Key } from "@bigpeer/engine";

/** Bytes of the checksum in front of a record. */
export const CHECK_SIZE = 5;

const CHECKED = 0xc1;

const PRIME_1 = 0x9e3779b1 | 0;
const PRIME_2 = 0x85ebca77 | 0;
const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f | 0;
const PRIME_5 = 0x165667b1 | 0;
const STRIPE = 16;

/** Bytes that are hashed between two pauses: about a millisecond. */
const SUM_AT_ONCE = 1024 * 1024;

const FNV_START = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

const { imul } = Math;

/** Verifies records of one storage, and adds checksums to new ones. */
export class RecordCheck {
  /** Whether every record must have a checksum. */
  isStrict: boolean;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);

  constructor(isStrict: boolean) {
    this.isStrict = isStrict;
  }

  /**
   * Where the value begins in the record of `size` bytes at the start of `bytes`. Throws when the
   * record, or its key, is not what was written.
   */
  valueStart(bytes: Uint8Array, size: number, key: Key): number {
    if (bytes !== this.#bytes) this.#look(bytes);
    if (size >= CHECK_SIZE) {
      const isSame = this.#view.getInt32(1, true) === this.#sum(CHECK_SIZE, size, key);
      if (bytes[0] === CHECKED && isSame) return CHECK_SIZE;
      if (bytes[0] === CHECKED || isSame) throw damaged("other bytes");
    }
    if (this.isStrict || bytes[0] === CHECKED) throw damaged("one without its checksum");
    return 0;
  }

  /** Writes the checksum of a record into the bytes that were left for it at `start`. */
  writeChecksum(bytes: Uint8Array, start: number, size: number, key: Key): void {
    if (bytes !== this.#bytes) this.#look(bytes);
    bytes[start] = CHECKED;
    this.#view.setInt32(start + 1, this.#sum(start + CHECK_SIZE, start + size, key), true);
  }

  /** As writeChecksum, with pauses for a large record, which must not change meanwhile. */
  *writeChecksumInSteps(record: ChecksummedBytes, key: Key): Generator<void, void> {
    const { chunk, start, size } = record;
    if (size <= SUM_AT_ONCE) {
      this.writeChecksum(chunk, start, size, key);
      return;
    }
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const sum = yield* xxh32InSteps(view, start + CHECK_SIZE, start + size, seedOf(key));
    chunk[start] = CHECKED;
    view.setInt32(start + 1, sum, true);
  }

  #look(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #sum(start: number, end: number, key: Key): number {
    return xxh32(this.#view, start, end, seedOf(key));
  }
}

/** A record inside a larger buffer. */
export interface ChecksummedBytes {
  readonly chunk: Uint8Array;
  readonly start: number;
  readonly size: number;
}

/** Whether a record has a checksum, right or not. */
export function hasChecksum(record: Uint8Array): boolean {
  return record[0] === CHECKED;
}

/** FNV-1a of a key, each character of which is a byte. */
function seedOf(key: Key): number {
  let hash = FNV_START;
  for (let i = 0; i < key.length; i++) hash = imul(hash ^ key.charCodeAt(i), FNV_PRIME);
  return hash;
}

/** XXH32 of the bytes from `start` to `end`, as a signed number. */
export function xxh32(view: DataView, start: number, end: number, seed: number): number {
  let at = start;
  let hash: number;
  if (end - start >= STRIPE) {
    let a = (seed + PRIME_1 + PRIME_2) | 0;
    let b = (seed + PRIME_2) | 0;
    let c = seed | 0;
    let d = (seed - PRIME_1) | 0;
    const last = end - STRIPE;
    do {
      a = (a + imul(view.getInt32(at, true), PRIME_2)) | 0;
      a = imul((a << 13) | (a >>> 19), PRIME_1);
      b = (b + imul(view.getInt32(at + 4, true), PRIME_2)) | 0;
      b = imul((b << 13) | (b >>> 19), PRIME_1);
      c = (c + imul(view.getInt32(at + 8, true), PRIME_2)) | 0;
      c = imul((c << 13) | (c >>> 19), PRIME_1);
      d = (d + imul(view.getInt32(at + 12, true), PRIME_2)) | 0;
      d = imul((d << 13) | (d >>> 19), PRIME_1);
      at += STRIPE;
    } while (at <= last);
    hash = ((a << 1) | (a >>> 31)) + ((b << 7) | (b >>> 25));
    hash = (hash + ((c << 12) | (c >>> 20)) + ((d << 18) | (d >>> 14))) | 0;
  } else {
    hash = (seed + PRIME_5) | 0;
  }
  return withRest(view, at, end, (hash + (end - start)) | 0);
}

/** As xxh32, with pauses. */
export function* xxh32InSteps(
  view: DataView,
  start: number,
  end: number,
  seed: number,
): Generator<void, number> {
  if (end - start < STRIPE) return xxh32(view, start, end, seed);
  const lanes: Lanes = [
    (seed + PRIME_1 + PRIME_2) | 0,
    (seed + PRIME_2) | 0,
    seed | 0,
    (seed - PRIME_1) | 0,
  ];
  const stripesEnd = end - ((end - start) % STRIPE);
  for (let at = start; at < stripesEnd; at += SUM_AT_ONCE) {
    addStripes(lanes, view, at, Math.min(at + SUM_AT_ONCE, stripesEnd));
    yield;
  }
  const [a, b, c, d] = lanes;
  let hash = ((a << 1) | (a >>> 31)) + ((b << 7) | (b >>> 25));
  hash = (hash + ((c << 12) | (c >>> 20)) + ((d << 18) | (d >>> 14))) | 0;
  return withRest(view, stripesEnd, end, (hash + (end - start)) | 0);
}

type Lanes = [number, number, number, number];

/** Adds whole stripes from `start` to `end`, at least one. */
function addStripes(lanes: Lanes, view: DataView, start: number, end: number): void {
  let [a, b, c, d] = lanes;
  for (let at = start; at < end; at += STRIPE) {
    a = (a + imul(view.getInt32(at, true), PRIME_2)) | 0;
    a = imul((a << 13) | (a >>> 19), PRIME_1);
    b = (b + imul(view.getInt32(at + 4, true), PRIME_2)) | 0;
    b = imul((b << 13) | (b >>> 19), PRIME_1);
    c = (c + imul(view.getInt32(at + 8, true), PRIME_2)) | 0;
    c = imul((c << 13) | (c >>> 19), PRIME_1);
    d = (d + imul(view.getInt32(at + 12, true), PRIME_2)) | 0;
    d = imul((d << 13) | (d >>> 19), PRIME_1);
  }
  lanes[0] = a;
  lanes[1] = b;
  lanes[2] = c;
  lanes[3] = d;
}

/** Adds the bytes after the last whole stripe, and mixes the result. */
function withRest(view: DataView, start: number, end: number, sum: number): number {
  let at = start;
  let hash = sum;
  for (; at + 4 <= end; at += 4) {
    hash = (hash + imul(view.getInt32(at, true), PRIME_3)) | 0;
    hash = imul((hash << 17) | (hash >>> 15), PRIME_4);
  }
  for (; at < end; at++) {
    hash = (hash + imul(view.getUint8(at), PRIME_5)) | 0;
    hash = imul((hash << 11) | (hash >>> 21), PRIME_1);
  }
  hash = imul(hash ^ (hash >>> 15), PRIME_2);
  hash = imul(hash ^ (hash >>> 13), PRIME_3);
  return hash ^ (hash >>> 16);
}

function damaged(found: string): Error {
  return new Error(`expected the record that was written, found ${found}`);
}
