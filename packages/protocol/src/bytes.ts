/**
 * ByteWriter and ByteReader: buffers that encode and decode every binary format in this package.
 *
 * Unsigned varints are little-endian groups of seven bits and hold any exact JS integer. The reader
 * never reads past its end: hostile bytes throw a PeerError with the code that the caller gave.
 */

import { type ErrorCode, PeerError } from "./error.ts";
import { byteText, SHORT_TEXT_SIZE_MAX, shortText } from "./known-text.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Below this length a loop over the characters is faster than the call into the host. */
const SHORT_TEXT = 48;

export class ByteWriter {
  #bytes: Uint8Array;
  /** Of the bytes; created on first use: most content has short integers only. */
  #view: DataView | undefined;
  #size = 0;

  constructor(capacity = 64) {
    this.#bytes = new Uint8Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** A copy of the written bytes, exactly as long. The writer is then empty and reusable. */
  finish(): Uint8Array {
    const written = copyOf(this.#bytes, 0, this.#size);
    this.#size = 0;
    return written;
  }

  /** Drops the written bytes: for a writer whose last use may have ended in an error. */
  reset(): void {
    this.#size = 0;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#size++] = value;
  }

  uint16(value: number): void {
    this.#reserve(2);
    this.#bytes[this.#size++] = value >>> 8;
    this.#bytes[this.#size++] = value;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#bytes[this.#size++] = value >>> 24;
    this.#bytes[this.#size++] = value >>> 16;
    this.#bytes[this.#size++] = value >>> 8;
    this.#bytes[this.#size++] = value;
  }

  uint64(value: bigint): void {
    this.#reserve(8);
    this.#wide().setBigUint64(this.#size, value);
    this.#size += 8;
  }

  float32(value: number): void {
    this.#reserve(4);
    this.#wide().setFloat32(this.#size, value);
    this.#size += 4;
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#wide().setFloat64(this.#size, value);
    this.#size += 8;
  }

  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#size++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#size++] = rest;
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  /** What another writer has written, which stays as it is. */
  append(other: ByteWriter): void {
    this.#reserve(other.#size);
    this.#bytes.set(other.#bytes.subarray(0, other.#size), this.#size);
    this.#size += other.#size;
  }

  /** Text whose characters are bytes. */
  ascii(text: string): void {
    const { length } = text;
    this.#reserve(length);
    const bytes = this.#bytes;
    const start = this.#size;
    for (let i = 0; i < length; i++) bytes[start + i] = text.charCodeAt(i);
    this.#size = start + length;
  }

  /** Length as a varint, then UTF-8. */
  text(value: string): void {
    const bytes = encodeText(value);
    this.varint(bytes.length);
    this.raw(bytes);
  }

  #reserve(more: number): void {
    const needed = this.#size + more;
    if (needed <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    bytes.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = bytes;
    this.#view = undefined;
  }

  #wide(): DataView {
    this.#view ??= viewOf(this.#bytes);
    return this.#view;
  }
}

/** The text between two places; undefined if the reader has to decode it. */
export type LongText = (bytes: Uint8Array, start: number, end: number) => string | undefined;

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #code: ErrorCode;
  /** Created on first use: most inputs have short integers only. */
  #view: DataView | undefined;
  #offset: number;
  #end: number;
  readonly #longText: LongText | undefined;

  /** Reads from `offset` on. `longText` may know a faster way to read long texts. */
  constructor(bytes: Uint8Array, code: ErrorCode, offset = 0, longText?: LongText) {
    // A subclass may slice without a copy, as Node's Buffer does; raw() promises one.
    this.#bytes =
      bytes.constructor === Uint8Array
        ? bytes
        : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#code = code;
    this.#offset = offset;
    this.#end = bytes.length;
    this.#longText = longText;
  }

  /** Reads the bytes from `start` to `end` from now on, which must be there. */
  seek(start: number, end: number): void {
    this.#offset = start;
    this.#end = end;
  }

  get offset(): number {
    return this.#offset;
  }

  get left(): number {
    return this.#end - this.#offset;
  }

  fail(message: string): never {
    throw new PeerError(this.#code, message, { at: `byte ${this.#offset}` });
  }

  byte(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  /** The next byte, without consuming it. */
  peek(): number {
    if (this.left < 1) this.fail("expected 1 more bytes, found 0");
    return this.#bytes[this.#offset] as number;
  }

  /** Consumes these bytes if they come next. */
  isNext(bytes: Uint8Array): boolean {
    if (this.left < bytes.length) return false;
    for (let i = 0; i < bytes.length; i++) {
      if (this.#bytes[this.#offset + i] !== bytes[i]) return false;
    }
    this.#offset += bytes.length;
    return true;
  }

  uint16(): number {
    const start = this.#take(2);
    const bytes = this.#bytes;
    return ((bytes[start] as number) << 8) | (bytes[start + 1] as number);
  }

  uint32(): number {
    const start = this.#take(4);
    const bytes = this.#bytes;
    const high = ((bytes[start] as number) << 8) | (bytes[start + 1] as number);
    const low = ((bytes[start + 2] as number) << 8) | (bytes[start + 3] as number);
    return high * 0x10000 + low;
  }

  uint64(): bigint {
    return this.#wide().getBigUint64(this.#take(8));
  }

  float32(): number {
    return this.#wide().getFloat32(this.#take(4));
  }

  float64(): number {
    return this.#wide().getFloat64(this.#take(8));
  }

  varint(): number {
    let value = 0;
    let unit = 1;
    for (let count = 0; count < 8; count++) {
      const byte = this.byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        if (byte === 0 && count > 0) this.fail("expected the shortest form of an integer");
        if (value > Number.MAX_SAFE_INTEGER) this.fail("expected an integer below 2^53");
        return value;
      }
      unit *= 0x80;
    }
    return this.fail("expected an integer of at most eight bytes");
  }

  /** A copy, so that it outlives the buffer that was read. */
  raw(size: number): Uint8Array {
    const start = this.#take(size);
    return copyOf(this.#bytes, start, start + size);
  }

  /** Text of one character for each byte. */
  byteString(size: number): string {
    const start = this.#take(size);
    return byteText(this.#bytes, start, size);
  }

  utf8(size: number): string {
    const start = this.#take(size);
    const short = size <= SHORT_TEXT_SIZE_MAX ? shortText(this.#bytes, start, size) : undefined;
    return short ?? this.#decodeText(start, start + size);
  }

  text(): string {
    return this.utf8(this.varint());
  }

  /** `size`, or up to three bytes less where that would cut a character. */
  wholeCharacters(size: number): number {
    let whole = size;
    while (whole > size - 3 && ((this.#bytes[this.#offset + whole] ?? 0) & 0xc0) === 0x80) whole--;
    return whole;
  }

  end(): void {
    if (this.left > 0) this.fail(`expected the end, found ${this.left} more bytes`);
  }

  #wide(): DataView {
    this.#view ??= viewOf(this.#bytes);
    return this.#view;
  }

  #take(size: number): number {
    if (size > this.left) this.fail(`expected ${size} more bytes, found ${this.left}`);
    const start = this.#offset;
    this.#offset += size;
    return start;
  }

  #decodeText(start: number, end: number): string {
    const known = this.#longText?.(this.#bytes, start, end);
    if (known !== undefined) return known;
    try {
      return decoder.decode(this.#bytes.subarray(start, end));
    } catch {
      return this.fail("expected UTF-8 text");
    }
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Up to here a loop is faster than a copy by the host. */
const SHORT_COPY_SIZE_MAX = 64;

function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const size = end - start;
  if (size > SHORT_COPY_SIZE_MAX) return bytes.slice(start, end);
  const copy = new Uint8Array(size);
  for (let i = 0; i < size; i++) copy[i] = bytes[start + i] as number;
  return copy;
}

/** Whether a loop over the characters is enough: ASCII, and not long. */
export function isShortAscii(text: string): boolean {
  const { length } = text;
  if (length > SHORT_TEXT) return false;
  let bits = 0;
  for (let i = 0; i < length; i++) bits |= text.charCodeAt(i);
  return bits < 0x80;
}

export function encodeText(text: string): Uint8Array {
  if (text.length > SHORT_TEXT) return encoder.encode(text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return encoder.encode(text);
    bytes[i] = unit;
  }
  return bytes;
}
