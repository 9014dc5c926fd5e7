/**
 * ValueEncoder: encodes values losslessly as the bytes that LMDB stores; value-decoder.ts reads
 * them.
 *
 * The format is MessagePack with records: an object whose shape (its list of keys) is in the table
 * of shapes is written as the number of the shape and then its field values, so keys are not
 * repeated in every document. A field named `__proto__` and text that begins with U+FEFF, which
 * libraries tend to lose, are written as CBOR inside an extension. The owner of the storage keeps
 * the table: see ShapeTable.
 */

import { encodeCbor, isArray, type Value, type ValueObject } from "@bigpeer/protocol";
import type { LentBytes } from "./encoded-write.ts";
import { packedFront } from "./packed-entries.ts";
import { isPlainKey, type ShapeTable } from "./shape-table.ts";
import { EXTENSION_CBOR, EXTENSION_TYPED_ARRAY, TYPED_ARRAY_UINT8 } from "./value-decoder.ts";

/** Buffer that stays allocated between commits; larger values get more for one commit. */
const CHUNK_SIZE = 256 * 1024;
const BYTE_ORDER_MARK = 0xfeff;
const INT64_LIMIT = 2n ** 63n;

/** Thrown where a value, or all of a commit, is too large to be encoded at once. */
export const TOO_LARGE: unique symbol = Symbol("too large");

/** Bytes of one value, and roughly of all since release(), that are encoded at once. */
const VALUE_AT_ONCE = 64 * 1024;
const ALL_AT_ONCE = 1024 * 1024;

/** Bytes, and items, of a large value between two possible pauses. */
const BYTES_PER_PAUSE = 32 * 1024;
const ITEMS_PER_PAUSE = 1024;

/** Memory that is added for a large value each time, and bytes copied between two pauses. */
const PART_SIZE = 1024 * 1024;

/**
 * Encodes values. The result of encode() is lent: it stays unchanged until release(), which the
 * owner calls once the bytes are written to the storage.
 */
export class ValueEncoder {
  readonly #shapes: ShapeTable;
  readonly #headSize: number;
  #chunk: Buffer = Buffer.allocUnsafeSlow(CHUNK_SIZE);
  #start = 0;
  #end = 0;
  /** Whether a value that is too large to encode at once is refused. */
  #isBounded = false;
  /** Bytes of the chunks that are full. */
  #fullBytes = 0;
  /** Items and bytes of a large value since the last pause. */
  #items = 0;
  #pausedAt = 0;
  /** The full buffers of a large value; undefined for others. */
  #parts: Buffer[] | undefined;

  /** `headSize` bytes in front of each value are left for the caller to fill. */
  constructor(shapes: ShapeTable, headSize = 0) {
    this.#shapes = shapes;
    this.#headSize = headSize;
  }

  /** `owner` is the key of the value: shapes are counted by owner. */
  encode(value: Value, owner: string): LentBytes {
    this.#shapes.beginValue(owner);
    this.#start = this.#end;
    this.#leaveHead();
    this.#write(value);
    const start = this.#start;
    const size = this.#end - start;
    return { key: owner, keySize: owner.length, chunk: this.#chunk, start, size, place: "shared" };
  }

  /**
   * As encode, but throws TOO_LARGE for a large value and, if `all`, for too many bytes since
   * release(). Then nothing of the value is written.
   */
  encodeAtOnce(value: Value, owner: string, all: boolean): LentBytes {
    if (all && this.#fullBytes > ALL_AT_ONCE) throw TOO_LARGE;
    this.#isBounded = true;
    try {
      return this.encode(value, owner);
    } catch (error) {
      this.#end = this.#start;
      throw error;
    } finally {
      this.#isBounded = false;
    }
  }

  /** As encode, with pauses. */
  *encodeInSteps(value: Value, owner: string): Generator<void, LentBytes> {
    this.#shapes.beginValue(owner);
    this.#start = this.#end;
    this.#pausedAt = this.#end;
    const parts: Buffer[] = [];
    this.#parts = parts;
    this.#leaveHead();
    yield* this.#writeInSteps(value);
    this.#parts = undefined;
    const start = this.#start;
    const size = this.#end - start;
    const keyed = { key: owner, keySize: owner.length };
    if (parts.length === 0) return { ...keyed, chunk: this.#chunk, start, size, place: "shared" };
    parts.push(this.#chunk.subarray(start, this.#end));
    // The next value overwrites it; by then it is copied.
    this.#end = start;
    const front = packedFront(owner);
    const chunk = yield* joinedInSteps(parts, front);
    this.#fullBytes += chunk.length;
    return { ...keyed, chunk, start: front, size: chunk.length - front, place: "alone" };
  }

  #leaveHead(): void {
    this.#reserve(this.#headSize);
    this.#end += this.#headSize;
  }

  release(): void {
    if (this.#chunk.length > CHUNK_SIZE) this.#chunk = Buffer.allocUnsafeSlow(CHUNK_SIZE);
    this.#start = 0;
    this.#end = 0;
    this.#fullBytes = 0;
    this.#parts = undefined;
  }

  *#writeInSteps(value: Value): Generator<void, void> {
    if (!isCompound(value)) this.#write(value);
    else if (isArray(value)) {
      this.#writeCount(value.length, 0x90, 0xdc);
      for (const element of value) yield* this.#writeItemInSteps(element);
    } else yield* this.#writeObjectInSteps(value);
  }

  *#writeObjectInSteps(object: ValueObject): Generator<void, void> {
    const keys = Object.keys(object);
    const shape = this.#shapes.find(object);
    if (shape >= 0) this.#writeShape(shape);
    else if (keys.every(isPlainKey)) this.#writeCount(keys.length, 0x80, 0xde);
    else {
      this.#writeExact(object);
      return;
    }
    for (const key of keys) {
      if (shape < 0) this.#writeText(key);
      yield* this.#writeItemInSteps(object[key] as Value);
    }
  }

  *#writeItemInSteps(value: Value): Generator<void, void> {
    if (isCompound(value)) yield* this.#writeInSteps(value);
    else this.#write(value);
    if (this.#isPauseDue()) yield;
  }

  #isPauseDue(): boolean {
    const isDue = ++this.#items > ITEMS_PER_PAUSE || this.#end - this.#pausedAt > BYTES_PER_PAUSE;
    if (!isDue) return false;
    this.#items = 0;
    this.#pausedAt = this.#end;
    return true;
  }

  #write(value: Value): void {
    // Each test is a few machine instructions; a switch compares the name of the type.
    if (typeof value === "string") return this.#writeText(value);
    if (typeof value === "number") return this.#writeNumber(value);
    if (typeof value === "boolean") return this.#writeByte(value ? 0xc3 : 0xc2);
    if (typeof value === "bigint") return this.#writeBigint(value);
    if (value === null) return this.#writeByte(0xc0);
    if (isArray(value)) return this.#writeArray(value);
    if (value instanceof Uint8Array) return this.#writeBinary(value);
    return this.#writeObject(value);
  }

  #writeByte(byte: number): void {
    this.#reserve(1);
    this.#chunk[this.#end++] = byte;
  }

  #writeNumber(value: number): void {
    this.#reserve(9);
    const chunk = this.#chunk;
    if (value >>> 0 === value && !Object.is(value, -0)) {
      this.#writeUnsigned(value);
    } else if (value >> 0 === value && value < 0) {
      this.#writeNegative(value);
    } else {
      chunk[this.#end] = 0xcb;
      this.#end = chunk.writeDoubleBE(value, this.#end + 1);
    }
  }

  // 0x40 to 0x7f are the numbers of shapes, so a one-byte integer ends at 0x3f.
  #writeUnsigned(value: number): void {
    const chunk = this.#chunk;
    if (value < 0x40) chunk[this.#end++] = value;
    else if (value < 0x100) {
      chunk[this.#end++] = 0xcc;
      chunk[this.#end++] = value;
    } else if (value < 0x10000) {
      chunk[this.#end] = 0xcd;
      this.#end = chunk.writeUInt16BE(value, this.#end + 1);
    } else {
      chunk[this.#end] = 0xce;
      this.#end = chunk.writeUInt32BE(value, this.#end + 1);
    }
  }

  #writeNegative(value: number): void {
    const chunk = this.#chunk;
    if (value >= -0x20) chunk[this.#end++] = value;
    else if (value >= -0x80) {
      chunk[this.#end++] = 0xd0;
      chunk[this.#end++] = value;
    } else if (value >= -0x8000) {
      chunk[this.#end] = 0xd1;
      this.#end = chunk.writeInt16BE(value, this.#end + 1);
    } else {
      chunk[this.#end] = 0xd2;
      this.#end = chunk.writeInt32BE(value, this.#end + 1);
    }
  }

  #writeBigint(value: bigint): void {
    this.#reserve(9);
    const chunk = this.#chunk;
    if (value < INT64_LIMIT) {
      chunk[this.#end] = 0xd3;
      this.#end = chunk.writeBigInt64BE(value, this.#end + 1);
    } else {
      chunk[this.#end] = 0xcf;
      this.#end = chunk.writeBigUInt64BE(value, this.#end + 1);
    }
  }

  #writeText(text: string): void {
    const length = text.length;
    if (length >= 0x40) return this.#writeLongText(text);
    this.#reserve(length + 2);
    const chunk = this.#chunk;
    let at = this.#end;
    if (length < 0x20) chunk[at++] = 0xa0 | length;
    else {
      chunk[at++] = 0xd9;
      chunk[at++] = length;
    }
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) return this.#writeLongText(text);
      chunk[at++] = unit;
    }
    this.#end = at;
  }

  #writeLongText(text: string): void {
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) return this.#writeExact(text);
    const size = Buffer.byteLength(text);
    this.#reserve(size + 5);
    const chunk = this.#chunk;
    if (size < 0x20) chunk[this.#end++] = 0xa0 | size;
    else this.#writeSize(size, 0xd9);
    this.#end += chunk.write(text, this.#end);
  }

  #writeBinary(bytes: Uint8Array): void {
    this.#reserve(bytes.length + 7);
    this.#writeSize(bytes.length + 1, 0xc7);
    this.#chunk[this.#end++] = EXTENSION_TYPED_ARRAY;
    this.#chunk[this.#end++] = TYPED_ARRAY_UINT8;
    this.#chunk.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #writeExact(value: Value): void {
    const bytes = encodeCbor(value);
    this.#reserve(bytes.length + 6);
    this.#writeSize(bytes.length, 0xc7);
    this.#chunk[this.#end++] = EXTENSION_CBOR;
    this.#chunk.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Writes a size in one, two or four bytes; the three head bytes are consecutive. */
  #writeSize(size: number, head: number): void {
    const chunk = this.#chunk;
    if (size < 0x100) {
      chunk[this.#end++] = head;
      chunk[this.#end++] = size;
    } else if (size < 0x10000) {
      chunk[this.#end] = head + 1;
      this.#end = chunk.writeUInt16BE(size, this.#end + 1);
    } else {
      chunk[this.#end] = head + 2;
      this.#end = chunk.writeUInt32BE(size, this.#end + 1);
    }
  }

  #writeArray(array: readonly Value[]): void {
    this.#writeCount(array.length, 0x90, 0xdc);
    for (let i = 0; i < array.length; i++) this.#write(array[i] as Value);
  }

  #writeObject(object: ValueObject): void {
    const shape = this.#shapes.find(object);
    if (shape < 0) return this.#writeMap(object, Object.keys(object));
    this.#writeShape(shape);
    for (const key in object) this.#write(object[key] as Value);
  }

  /** The head of a record: the number of its shape in one byte or two. Its values follow. */
  #writeShape(shape: number): void {
    this.#reserve(2);
    if (shape < 0x20) this.#chunk[this.#end++] = 0x40 + shape;
    else {
      this.#chunk[this.#end++] = 0x60 + ((shape - 0x20) & 0x1f);
      this.#chunk[this.#end++] = (shape - 0x20) >> 5;
    }
  }

  #writeMap(object: ValueObject, keys: string[]): void {
    if (!keys.every(isPlainKey)) return this.#writeExact(object);
    this.#writeCount(keys.length, 0x80, 0xde);
    for (const key of keys) {
      this.#writeText(key);
      this.#write(object[key] as Value);
    }
  }

  /** Up to 15 in the head itself, else two or four bytes after `wide` or the head after it. */
  #writeCount(count: number, narrow: number, wide: number): void {
    this.#reserve(5);
    const chunk = this.#chunk;
    if (count < 0x10) chunk[this.#end++] = narrow | count;
    else if (count < 0x10000) {
      chunk[this.#end] = wide;
      this.#end = chunk.writeUInt16BE(count, this.#end + 1);
    } else {
      chunk[this.#end] = wide + 1;
      this.#end = chunk.writeUInt32BE(count, this.#end + 1);
    }
  }

  /** A full chunk stays unchanged for the values lent from it; the current value moves on. */
  #reserve(size: number): void {
    if (this.#end + size <= this.#chunk.length) return;
    if (this.#parts !== undefined) {
      this.#addPart(this.#parts, size);
      return;
    }
    const written = this.#end - this.#start;
    if (this.#isBounded && written + size > VALUE_AT_ONCE) throw TOO_LARGE;
    this.#fullBytes += this.#start;
    const chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_SIZE, (written + size) * 2));
    this.#chunk.copy(chunk, 0, this.#start, this.#end);
    this.#pausedAt -= this.#start;
    this.#chunk = chunk;
    this.#start = 0;
    this.#end = written;
  }

  /** The parts of a large value stay where they are until it is complete: copying takes long. */
  #addPart(parts: Buffer[], size: number): void {
    parts.push(this.#chunk.subarray(this.#start, this.#end));
    this.#pausedAt -= this.#end;
    this.#fullBytes += parts.length === 1 ? this.#start : 0;
    this.#chunk = Buffer.allocUnsafeSlow(Math.max(PART_SIZE, size));
    this.#start = 0;
    this.#end = 0;
  }
}

const NO_BYTES = Buffer.alloc(0);

/** Joins all parts in one buffer and frees them on the way; `front` bytes are left free. */
function* joinedInSteps(parts: Buffer[], front: number): Generator<void, Buffer> {
  const size = parts.reduce((sum, part) => sum + part.length, front);
  const joined = Buffer.allocUnsafeSlow(size);
  let end = front;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as Buffer;
    for (let at = 0; at < part.length; at += PART_SIZE) {
      end += part.copy(joined, end, at, Math.min(part.length, at + PART_SIZE));
      yield;
    }
    parts[i] = NO_BYTES;
  }
  return joined;
}

function isCompound(value: Value): value is readonly Value[] | ValueObject {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}
