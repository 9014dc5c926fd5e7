/**
 * Incremental CBOR decoder: reads what readCbor reads, as a generator that pauses regularly, and
 * counts the memory that the value takes.
 *
 * A message of 16 MB may be 16 million integers, which is a valid document. Decoding it takes a
 * second, too long for a server of thousands of connections to do without a pause. Containers are
 * counted while they are read: an empty one is a byte on the wire and a hundred in memory.
 */

import { ByteReader, ByteWriter } from "./bytes.ts";
import {
  failTwice,
  INDEFINITE,
  isCompound,
  isEnd,
  MAJOR,
  readCount,
  readInteger,
  readKey,
  readSize,
  readValue,
  taggedValue,
} from "./cbor.ts";
import { type Charge, DecodedSize } from "./decoded-size.ts";
import {
  DEPTH_MAX,
  type MutableObject,
  noteChecked,
  setField,
  type Value,
  type ValueObject,
} from "./value.ts";

/** Decode cost between two pauses, in small integers: a few milliseconds. */
export const COST_PER_STEP = 100_000;

/** Decode cost of an item by its major type, in small integers. */
const DECODE_COST: readonly number[] = [1, 1, 8, 3, 4, 6, 2, 1];
export const DECODE_COST_MAX: number = Math.max(...DECODE_COST);

/** Text whose size takes four bytes or more is long; it is read in pieces of this size. */
const LONG_INFO = 26;
const TEXT_PIECE: number = 64 * 1024;

/** Bytes of text and binary that cost as much as one small integer. */
const BYTES_PER_COST = 16;

export interface DecodeLimits {
  /** Nesting levels around values. */
  readonly around: number;
  /** Maximum number of lists, objects and binary values. */
  readonly things: number;
  /** Items of one list, and fields of one object: growing one copies the whole of it. */
  readonly listLength: number;
  readonly fields: number;
  /** Called with the memory that the value takes. */
  readonly charge?: Charge | undefined;
  /** Whether the value is noted as checked, so that it need not be checked again. */
  readonly isNoted?: boolean;
}

interface Work {
  readonly reader: ByteReader;
  readonly limits: DecodeLimits;
  readonly size: DecodedSize;
  /** Remaining cost until the next pause. */
  cost: number;
  /** Whether all numbers so far were finite. */
  isFinite: boolean;
  /** Remaining number of lists, objects and binary values. */
  things: number;
}

type Incremental<T> = Generator<void, T>;

/** The decode cost of the item with this first byte, without its content. */
export function decodeCost(head: number): number {
  return DECODE_COST[head >> 5] as number;
}

/** The decode cost of this many bytes of text or binary. */
export function decodeCostOfBytes(size: number): number {
  return size / BYTES_PER_COST;
}

/** Whether the item with this first byte counts as a container: list, object or binary. */
export function isThing(head: number): boolean {
  const major = head >> 5;
  return major === MAJOR.bytes || major === MAJOR.array || major === MAJOR.map;
}

/** Decodes all bytes as one value, as decodeCbor. */
export function* decodeCborIncremental(
  bytes: Uint8Array,
  limits: DecodeLimits,
): Incremental<Value> {
  // A host's own kind of bytes may return views where we rely on copies.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  const reader = new ByteReader(plain, "cbor.malformed");
  const value = yield* readCborIncremental(reader, limits);
  reader.end();
  return value;
}

/** Reads one value, as readCbor. */
export function* readCborIncremental(reader: ByteReader, limits: DecodeLimits): Incremental<Value> {
  const size = new DecodedSize(limits.charge);
  const { things } = limits;
  const work: Work = { reader, limits, size, cost: COST_PER_STEP, isFinite: true, things };
  const value = (yield* readAny(work, -limits.around)) ?? null;
  size.settle();
  if (limits.isNoted === true) noteChecked(value, work.isFinite);
  return value;
}

function* readAny(work: Work, depth: number): Incremental<Value | undefined> {
  const { reader } = work;
  if (isCompound(reader.peek())) return yield* readCompound(work, depth);
  return isLongText(reader) ? yield* readLongText(work) : readSimply(work);
}

/** Reads a value that is not compound. */
function readSimply(work: Work): Value | undefined {
  const { reader } = work;
  const { offset } = reader;
  const head = reader.peek();
  count(work, head);
  const value = head >> 5 === MAJOR.bytes ? readBinary(work) : readValue(reader, 0);
  work.cost -= decodeCostOfBytes(reader.offset - offset);
  if (typeof value === "string") work.size.text(reader.offset - offset);
  else if (typeof value === "bigint") work.size.scalar(value);
  else if (typeof value === "number") countNumber(work, value);
  return value;
}

function countNumber(work: Work, number: number): void {
  work.size.scalar(number);
  if (!Number.isFinite(number)) work.isFinite = false;
}

function readBinary({ reader, size }: Work): Uint8Array {
  const length = readSize(reader, reader.byte() & 0x1f);
  size.binary(Math.min(length, reader.left));
  return reader.raw(length);
}

function isShort(reader: ByteReader): boolean {
  return !isCompound(reader.peek()) && !isLongText(reader);
}

/** Whether long text comes next, which takes the host long. */
function isLongText(reader: ByteReader): boolean {
  const head = reader.peek();
  const info = head & 0x1f;
  return head >> 5 === MAJOR.text && info >= LONG_INFO && info !== INDEFINITE;
}

function count(work: Work, head: number): void {
  work.cost -= decodeCost(head);
  if (isThing(head) && --work.things < 0) {
    work.reader.fail("expected fewer lists, objects and binary values for so many bytes");
  }
}

/** Pauses when the cost of this step is used up. */
function* pauseIn(work: Work): Incremental<void> {
  if (work.cost > 0) return;
  yield;
  work.cost = COST_PER_STEP;
}

function* readCompound(work: Work, depth: number): Incremental<Value | undefined> {
  const { reader } = work;
  const head = reader.byte();
  const major = head >> 5;
  const info = head & 0x1f;
  if (major >= MAJOR.array && depth >= DEPTH_MAX) {
    reader.fail(`expected at most ${DEPTH_MAX} levels of nesting`);
  }
  count(work, head);
  yield* pauseIn(work);
  switch (major) {
    case MAJOR.bytes:
      return yield* readBytes(work);
    case MAJOR.text:
      return yield* readText(work);
    case MAJOR.array:
      return yield* readArray(work, info, depth);
    case MAJOR.map:
      return yield* readMap(work, info, depth);
    default: {
      const tag = readInteger(reader, info);
      return taggedValue(reader, tag, yield* readAny(work, depth + 1));
    }
  }
}

function* readArray(work: Work, info: number, depth: number): Incremental<Value[]> {
  const { reader } = work;
  const { listLength } = work.limits;
  const array: Value[] = [];
  work.size.list();
  const isOpen = info === INDEFINITE;
  const size = isOpen ? Number.POSITIVE_INFINITY : readCount(reader, info);
  while (array.length < size) {
    if (isOpen && isEnd(reader)) break;
    if (work.cost <= 0) yield* pauseIn(work);
    if (array.length >= listLength) reader.fail(`expected a list of at most ${listLength} items`);
    work.size.item(array.length);
    const value = isShort(reader) ? readSimply(work) : yield* readAny(work, depth + 1);
    array.push(value ?? null);
  }
  return array;
}

function* readMap(work: Work, info: number, depth: number): Incremental<ValueObject> {
  const { reader } = work;
  const { fields } = work.limits;
  const object: MutableObject = {};
  work.size.object();
  /** Keys without a value. */
  const empty = new Set<string>();
  const isOpen = info === INDEFINITE;
  const size = isOpen ? Number.POSITIVE_INFINITY : readCount(reader, info);
  for (let i = 0; i < size; i++) {
    if (isOpen && isEnd(reader)) break;
    if (work.cost <= 0) yield* pauseIn(work);
    if (i >= fields) reader.fail(`expected an object of at most ${fields} fields`);
    const key = yield* readKeyOf(work);
    work.size.field(key);
    if (Object.hasOwn(object, key) || empty.has(key)) failTwice(reader, key);
    const value = isShort(reader) ? readSimply(work) : yield* readAny(work, depth + 1);
    if (value === undefined) empty.add(key);
    else setField(object, key, value);
  }
  return object;
}

function* readKeyOf(work: Work): Incremental<string> {
  const { reader } = work;
  const { offset } = reader;
  const head = reader.peek();
  if (head === ((MAJOR.text << 5) | INDEFINITE)) {
    reader.byte();
    return yield* readText(work);
  }
  const key = readKey(reader);
  work.cost -= decodeCost(head) + decodeCostOfBytes(reader.offset - offset);
  return key;
}

function* readBytes(work: Work): Incremental<Uint8Array> {
  const { reader } = work;
  const writer = new ByteWriter();
  while (!isEnd(reader)) {
    const size = yield* chunkSize(work, MAJOR.bytes);
    work.size.binary(Math.min(size, reader.left));
    writer.raw(reader.raw(size));
  }
  return writer.finish();
}

function* readText(work: Work): Incremental<string> {
  const { reader } = work;
  const chunks: string[] = [];
  while (!isEnd(reader)) {
    const size = yield* chunkSize(work, MAJOR.text);
    work.size.text(Math.min(size, reader.left));
    if (size > 0) chunks.push(reader.utf8(size));
  }
  return chunks.join("");
}

function* readLongText(work: Work): Incremental<string> {
  const { reader } = work;
  const head = reader.byte();
  count(work, head);
  const size = readSize(reader, head & 0x1f);
  if (size > reader.left) return reader.utf8(size);
  const pieces: string[] = [];
  work.size.text(size);
  for (let left = size; left > 0; ) {
    const piece = left > TEXT_PIECE ? reader.wholeCharacters(TEXT_PIECE) : left;
    pieces.push(reader.utf8(piece));
    left -= piece;
    work.cost -= decodeCostOfBytes(piece);
    yield* pauseIn(work);
  }
  return pieces.join("");
}

function* chunkSize(work: Work, major: number): Incremental<number> {
  const { reader } = work;
  yield* pauseIn(work);
  const head = reader.byte();
  if (head >> 5 !== major || (head & 0x1f) === INDEFINITE) reader.fail("expected a chunk");
  count(work, head);
  const size = readSize(reader, head & 0x1f);
  work.cost -= decodeCostOfBytes(size);
  return size;
}
