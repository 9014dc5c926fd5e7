/**
 * CBOR codec of values (RFC 8949): for the wire, for canonical bytes, and in the state of
 * documents.
 *
 * The encoder writes the shortest form of every number, binary as an untagged byte string, and
 * nothing indefinite. canonicalBytes also sorts object keys by code point, so equal values have
 * equal bytes. The decoder accepts any well-formed CBOR whose content is a Value: indefinite
 * lengths, bignum tags, other tags as their content. It refuses the rest and never over-allocates.
 */

import { assert } from "./assert.ts";
import { ByteReader, ByteWriter, encodeText, isShortAscii } from "./bytes.ts";
import { type KeyPath, KeyPaths, PATH_LENGTH_MAX } from "./key-path.ts";
import {
  DEPTH_MAX,
  INTEGER_MAX,
  INTEGER_MIN,
  isArray,
  type MutableObject,
  normalInteger,
  normalNumber,
  setField,
  sortedKeys,
  type Value,
  type ValueObject,
} from "./value.ts";

export const MAJOR = {
  unsigned: 0,
  negative: 1,
  bytes: 2,
  text: 3,
  array: 4,
  map: 5,
  tag: 6,
} as const;
const SIMPLE = { false: 0xf4, true: 0xf5, null: 0xf6 } as const;
const FLOAT = { half: 0xf9, single: 0xfa, double: 0xfb } as const;
const BREAK = 0xff;

export function encodeCbor(value: Value): Uint8Array {
  const writer = new ByteWriter(256);
  writeCbor(writer, value);
  return writer.finish();
}

export function writeCbor(writer: ByteWriter, value: Value): void {
  writeValue(writer, value, Object.keys);
}

/** The canonical byte form of a value: equal values have equal bytes, on every peer. */
export function canonicalBytes(value: Value): Uint8Array {
  const writer = new ByteWriter(128);
  writeCanonical(writer, value);
  return writer.finish();
}

export function writeCanonical(writer: ByteWriter, value: Value): void {
  writeValue(writer, value, sortedKeys);
}

export function decodeCbor(bytes: Uint8Array): Value {
  const reader = new ByteReader(bytes, "cbor.malformed");
  const value = readValue(reader, 0);
  reader.end();
  return value ?? null;
}

/** Reads one value and stops after it; `around` allows more levels, around values. */
export function readCbor(reader: ByteReader, around = 0): Value {
  return readValue(reader, -around) ?? null;
}

export type KeyOrder = (object: ValueObject) => string[];

export function writeValue(writer: ByteWriter, value: Value, keysOf: KeyOrder): void {
  switch (typeof value) {
    case "boolean":
      return writer.byte(value ? SIMPLE.true : SIMPLE.false);
    case "number":
      return writeNumber(writer, value);
    case "bigint":
      return value < 0n
        ? writeHead64(writer, MAJOR.negative, -1n - value)
        : writeHead64(writer, MAJOR.unsigned, value);
    case "string":
      return writeText(writer, value);
    default:
      if (value === null) return writer.byte(SIMPLE.null);
      if (value instanceof Uint8Array) {
        writeHead(writer, MAJOR.bytes, value.length);
        return writer.raw(value);
      }
      if (isArray(value)) {
        writeHead(writer, MAJOR.array, value.length);
        for (const element of value) writeValue(writer, element, keysOf);
        return;
      }
      return writeObject(writer, value, keysOf);
  }
}

function writeObject(writer: ByteWriter, object: ValueObject, keysOf: KeyOrder): void {
  const keys = keysOf(object);
  writeHead(writer, MAJOR.map, keys.length);
  for (const key of keys) {
    writeText(writer, key);
    writeValue(writer, object[key] as Value, keysOf);
  }
}

export function writeText(writer: ByteWriter, text: string): void {
  if (isShortAscii(text)) {
    writeHead(writer, MAJOR.text, text.length);
    return writer.ascii(text);
  }
  const bytes = encodeText(text);
  writeHead(writer, MAJOR.text, bytes.length);
  writer.raw(bytes);
}

export function writeHead(writer: ByteWriter, major: number, argument: number): void {
  const head = major << 5;
  if (argument < 24) writer.byte(head | argument);
  else if (argument < 0x100) {
    writer.byte(head | 24);
    writer.byte(argument);
  } else if (argument < 0x10000) {
    writer.byte(head | 25);
    writer.uint16(argument);
  } else if (argument < 0x100000000) {
    writer.byte(head | 26);
    writer.uint32(argument);
  } else writeHead64(writer, major, BigInt(argument));
}

function writeHead64(writer: ByteWriter, major: number, argument: bigint): void {
  if (argument < 0x100000000n) return writeHead(writer, major, Number(argument));
  assert(argument <= INTEGER_MAX, "an integer inside 64 bits");
  writer.byte((major << 5) | 27);
  writer.uint64(argument);
}

function writeNumber(writer: ByteWriter, value: number): void {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    if (value >= 0) writeHead(writer, MAJOR.unsigned, value);
    else writeHead(writer, MAJOR.negative, -1 - value);
    return;
  }
  const number = normalNumber(value);
  if (typeof number === "bigint") writeValue(writer, number, sortedKeys);
  else writeFloat(writer, number);
}

function writeFloat(writer: ByteWriter, value: number): void {
  const half = toHalf(value);
  if (half !== undefined) {
    writer.byte(FLOAT.half);
    writer.uint16(half);
  } else if (Math.fround(value) === value) {
    writer.byte(FLOAT.single);
    writer.float32(value);
  } else {
    writer.byte(FLOAT.double);
    writer.float64(value);
  }
}

/** The 16-bit form of a float when it is exact. */
function toHalf(value: number): number | undefined {
  if (Number.isNaN(value)) return 0x7e00;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size === Number.POSITIVE_INFINITY) return sign | 0x7c00;
  if (size === 0) return sign;
  if (size < 2 ** -14) {
    const fraction = size * 2 ** 24;
    return Number.isInteger(fraction) ? sign | fraction : undefined;
  }
  if (size >= 2 ** 16) return undefined;
  const exponent = Math.floor(Math.log2(size));
  const fraction = (size / 2 ** exponent - 1) * 1024;
  return Number.isInteger(fraction) && fraction < 1024
    ? sign | ((exponent + 15) << 10) | fraction
    : undefined;
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * Undefined only for CBOR's own `undefined`: a field of that value is left out, elsewhere it is
 * null. A value that is not compound may be read at any depth.
 */
export function readValue(reader: ByteReader, depth: number): Value | undefined {
  const head = reader.byte();
  const info = head & 0x1f;
  const major = head >> 5;
  if (depth >= DEPTH_MAX && major >= MAJOR.array && major <= MAJOR.tag) {
    reader.fail(`expected at most ${DEPTH_MAX} levels of nesting`);
  }
  switch (major) {
    case MAJOR.unsigned:
      return readInteger(reader, info);
    case MAJOR.negative:
      return readNegative(reader, info);
    case MAJOR.bytes:
      return readBytes(reader, info);
    case MAJOR.text:
      return readText(reader, info);
    case MAJOR.array:
      return readArray(reader, info, depth);
    case MAJOR.map:
      return readMap(reader, info, depth);
    case MAJOR.tag:
      return readTagged(reader, readInteger(reader, info), depth);
    default:
      return readSimple(reader, head);
  }
}

/** Whether the item with this first byte is compound: a list, an object, a tag, or in chunks. */
export function isCompound(head: number): boolean {
  const major = head >> 5;
  if (major >= MAJOR.array) return major <= MAJOR.tag;
  return major >= MAJOR.bytes && (head & 0x1f) === INDEFINITE;
}

export function readInteger(reader: ByteReader, info: number): number | bigint {
  if (info < 24) return info;
  switch (info) {
    case 24:
      return reader.byte();
    case 25:
      return reader.uint16();
    case 26:
      return reader.uint32();
    case 27:
      return normalInteger(reader.uint64());
    default:
      return reader.fail("expected a definite integer");
  }
}

function readNegative(reader: ByteReader, info: number): number | bigint {
  const argument = readInteger(reader, info);
  if (typeof argument === "number" && argument < Number.MAX_SAFE_INTEGER) return -1 - argument;
  return checkRange(reader, -1n - BigInt(argument));
}

function checkRange(reader: ByteReader, integer: bigint): number | bigint {
  if (integer < INTEGER_MIN || integer > INTEGER_MAX) {
    reader.fail("expected an integer from -2^63 to 2^64-1");
  }
  return normalInteger(integer);
}

export function readSize(reader: ByteReader, info: number): number {
  const size = readInteger(reader, info);
  if (typeof size === "bigint") return reader.fail("expected a length below 2^53");
  return size;
}

export const INDEFINITE = 31;

function readBytes(reader: ByteReader, info: number): Uint8Array {
  if (info !== INDEFINITE) return reader.raw(readSize(reader, info));
  const writer = new ByteWriter();
  readChunks(reader, MAJOR.bytes, (size) => writer.raw(reader.raw(size)));
  return writer.finish();
}

function readText(reader: ByteReader, info: number): string {
  if (info !== INDEFINITE) return reader.utf8(readSize(reader, info));
  let text = "";
  readChunks(reader, MAJOR.text, (size) => {
    text += reader.utf8(size);
  });
  return text;
}

function readChunks(reader: ByteReader, major: number, take: (size: number) => void): void {
  for (let head = reader.byte(); head !== BREAK; head = reader.byte()) {
    if (head >> 5 !== major || (head & 0x1f) === INDEFINITE) reader.fail("expected a chunk");
    take(readSize(reader, head & 0x1f));
  }
}

function readArray(reader: ByteReader, info: number, depth: number): Value[] {
  const array: Value[] = [];
  if (info === INDEFINITE) {
    while (!isEnd(reader)) array.push(readValue(reader, depth + 1) ?? null);
    return array;
  }
  const count = readCount(reader, info);
  for (let i = 0; i < count; i++) array.push(readValue(reader, depth + 1) ?? null);
  return array;
}

/** Each item has at least one byte: a larger count is false, found before any allocation. */
export function readCount(reader: ByteReader, info: number): number {
  const count = readSize(reader, info);
  if (count > reader.left) reader.fail(`expected ${count} items, found ${reader.left} bytes`);
  return count;
}

/** Consumes the end mark of an indefinite item, if it comes next. */
export function isEnd(reader: ByteReader): boolean {
  if (reader.peek() !== BREAK) return false;
  reader.byte();
  return true;
}

/** Key lists of all objects read before, from any source. */
const paths = new KeyPaths();

function readMap(reader: ByteReader, info: number, depth: number): ValueObject {
  const object: MutableObject = {};
  if (info === INDEFINITE) {
    const seen = new Set<string>();
    while (!isEnd(reader)) readNewField(reader, object, seen, depth);
    return object;
  }
  const count = readCount(reader, info);
  let path = paths.root;
  for (let i = 0; i < count; i++) {
    const next = readKnownKey(reader, path);
    if (typeof next === "string") {
      readNewFields(reader, object, { path, key: next, left: count - i - 1 }, depth);
      return object;
    }
    path = next;
    const value = readValue(reader, depth + 1);
    if (value === undefined) continue;
    if (path.isPlain) object[path.key] = value;
    else setField(object, path.key, value);
  }
  paths.used();
  return object;
}

/** The path with the next key; the key alone when no known object has had it at this position. */
function readKnownKey(reader: ByteReader, path: KeyPath): KeyPath | string {
  const { likely } = path;
  if (likely !== undefined && reader.isNext(likely.bytes)) return likely;
  const key = readKey(reader);
  const longer = path.longer(key);
  if (longer === undefined) return key;
  path.likely = longer;
  return longer;
}

/** The point where an object begins to differ from all known key lists. */
interface Fork {
  readonly path: KeyPath;
  /** The first new key, already read; and how many fields follow it. */
  readonly key: string;
  readonly left: number;
}

function readNewFields(
  reader: ByteReader,
  object: MutableObject,
  { path, key, left }: Fork,
  depth: number,
): void {
  const seen = new Set(path.keys());
  addKey(reader, seen, key);
  const value = readValue(reader, depth + 1);
  if (value !== undefined) setField(object, key, value);
  for (let i = 0; i < left; i++) readNewField(reader, object, seen, depth);
  if (seen.size <= PATH_LENGTH_MAX) paths.learn(seen);
}

function readNewField(
  reader: ByteReader,
  object: MutableObject,
  seen: Set<string>,
  depth: number,
): void {
  const key = readKey(reader);
  addKey(reader, seen, key);
  const value = readValue(reader, depth + 1);
  if (value !== undefined) setField(object, key, value);
}

export function readKey(reader: ByteReader): string {
  const head = reader.byte();
  if (head >> 5 !== MAJOR.text) reader.fail("expected a text key");
  return readText(reader, head & 0x1f);
}

function addKey(reader: ByteReader, seen: Set<string>, key: string): void {
  if (seen.has(key)) failTwice(reader, key);
  seen.add(key);
}

export function failTwice(reader: ByteReader, key: string): never {
  return reader.fail(`expected different keys, found ${JSON.stringify(key)} twice`);
}

function readTagged(reader: ByteReader, tag: number | bigint, depth: number): Value | undefined {
  return taggedValue(reader, tag, readValue(reader, depth + 1));
}

export function taggedValue(
  reader: ByteReader,
  tag: number | bigint,
  content: Value | undefined,
): Value | undefined {
  if (tag !== 2 && tag !== 3) return content;
  if (!(content instanceof Uint8Array)) return reader.fail("expected the bytes of a bignum");
  if (content.length > 64) reader.fail("expected an integer from -2^63 to 2^64-1");
  let magnitude = 0n;
  for (const byte of content) magnitude = magnitude * 256n + BigInt(byte);
  return checkRange(reader, tag === 2 ? magnitude : -1n - magnitude);
}

function readSimple(reader: ByteReader, head: number): Value | undefined {
  switch (head) {
    case SIMPLE.false:
      return false;
    case SIMPLE.true:
      return true;
    case SIMPLE.null:
      return null;
    case 0xf7:
      return undefined;
    case FLOAT.half:
      return fromHalf(reader.uint16());
    case FLOAT.single:
      return normalNumber(reader.float32());
    case FLOAT.double:
      return normalNumber(reader.float64());
    default:
      return reader.fail(`expected a value, found the byte 0x${head.toString(16)}`);
  }
}
