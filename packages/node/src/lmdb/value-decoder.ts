/**
 * ValueDecoder: decodes stored values, or only some of their fields, from lent bytes.
 *
 * Most statements look at a few fields of each document, and decoding is the main cost of a scan.
 * Unwanted values are skipped: the first byte of most gives their length. Short text is interned,
 * because fields repeat their values; a lookup is faster than creating a string, and later
 * comparison and grouping are faster too.
 */

import { decodeCbor, knownText, type MutableObject, setField, type Value } from "@bigpeer/protocol";
import { RecordPlan, type ValueSource } from "./record-plan.ts";

/** Extension types: ours, and msgpackr's for a typed array (then 1, a Uint8Array). */
export const EXTENSION_CBOR = 0x43;
export const EXTENSION_TYPED_ARRAY = 0x74;
export const TYPED_ARRAY_UINT8 = 1;

/** The wanted fields of many values, with a plan for each shape that was met. */
export class FieldSet {
  readonly names: ReadonlySet<string>;
  readonly plans: (RecordPlan | undefined)[] = [];

  constructor(names: readonly string[]) {
    this.names = new Set(names);
  }
}

/** Buffer methods that Node's types lack; passing the name of an encoding would be slower. */
interface TextBuffer {
  readonly utf8Slice: (this: Uint8Array, start: number, end: number) => string;
}

const { utf8Slice } = Buffer.prototype as unknown as TextBuffer;

const FIELD_SET_COUNT_MAX = 64;

/** Bytes of a value that are decoded at once, and bytes between two possible pauses. */
const DECODED_AT_ONCE = 128 * 1024;
const BYTES_PER_PAUSE = 16 * 1024;

/**
 * Levels that are read one by one without measuring their length, which would walk through all
 * their content: those around the operations in a log record.
 */
const DEPTH_UNMEASURED = 4;

const NO_BYTES = new Uint8Array(0);

/** Decodes stored values. One instance serves one table of shapes. */
export class ValueDecoder implements ValueSource {
  readonly #loadShapes: () => readonly (readonly string[])[];
  #shapes: readonly (readonly string[])[] = [];
  /** By the identity of the list, and by its names: each statement has its own list. */
  readonly #givenSets = new WeakMap<readonly string[], FieldSet>();
  readonly #fieldSets = new Map<string, FieldSet>();
  readonly #plans: (RecordPlan | undefined)[] = [];
  #bytes: Uint8Array = NO_BYTES;
  #view: DataView = viewOf(NO_BYTES);
  #at = 0;
  #end = 0;
  #pausedAt = 0;

  /** `shapes` returns the whole table; it is called when a value names an unknown shape. */
  constructor(shapes: () => readonly (readonly string[])[]) {
    this.#loadShapes = shapes;
  }

  /**
   * Decodes the value from `start` to `size` in `bytes`, which may be longer. Throws if invalid.
   */
  decode(bytes: Uint8Array, size: number, start = 0): Value {
    this.#begin(bytes, size, start);
    const value = this.read();
    if (this.#at !== size) throw unreadable(this.#at);
    return value;
  }

  /** As decode, with pauses where the value is large. The bytes may change while it pauses. */
  *decodeInSteps(bytes: Uint8Array, size: number, start = 0): Generator<void, Value, void> {
    if (size <= DECODED_AT_ONCE) return this.decode(bytes, size, start);
    // Meanwhile other reads use this decoder with other bytes.
    const own = new ValueDecoder(this.#loadShapes);
    own.#begin(copyOf(bytes, 0, size), size, start);
    const value = own.#isPlain() ? own.read() : yield* own.#readInSteps(0);
    if (own.#at !== size) throw unreadable(own.#at);
    return value;
  }

  /** As decode; objects may come without unwanted fields: see Reader in the engine. */
  decodePart(bytes: Uint8Array, size: number, wanted: FieldSet, start = 0): Value {
    this.#begin(bytes, size, start);
    const head = bytes[start] as number;
    const value =
      head >= 0x90 && head < 0xa0 ? this.#arrayOfParts(wanted) : this.#partHere(wanted, false);
    if (this.#at > size) throw unreadable(this.#at);
    return value;
  }

  /** The argument of decodePart. Those of recent statements are cached, with their plans. */
  fieldSet(fields: readonly string[]): FieldSet {
    const given = this.#givenSets.get(fields);
    if (given !== undefined) return given;
    const name = JSON.stringify(fields);
    const fieldSet = this.#fieldSets.get(name) ?? new FieldSet(fields);
    if (this.#fieldSets.size >= FIELD_SET_COUNT_MAX) this.#fieldSets.clear();
    this.#fieldSets.set(name, fieldSet);
    this.#givenSets.set(fields, fieldSet);
    return fieldSet;
  }

  #begin(bytes: Uint8Array, size: number, start: number): void {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
    }
    this.#at = start;
    this.#end = size;
  }

  #arrayOfParts(wanted: FieldSet): Value[] {
    const array: Value[] = [];
    const count = (this.#bytes[this.#at++] as number) - 0x90;
    for (let i = 0; i < count; i++) array.push(this.#partHere(wanted, true));
    return array;
  }

  /** Moves behind the value only if `isFollowed`. */
  #partHere(wanted: FieldSet, isFollowed: boolean): Value {
    const head = this.#bytes[this.#at] as number;
    if (head >= 0x80 && head < 0x90) {
      this.#at++;
      return this.#someOfMap(head - 0x80, wanted);
    }
    if (head === 0xde || head === 0xdf) {
      this.#at++;
      return this.#someOfMap(this.#size(head - 0xdd), wanted);
    }
    if (head < 0x40 || head >= 0x80) return this.read();
    this.#at++;
    const number = this.#shapeNumber(head);
    const plan = wanted.plans[number] ?? this.#newPlan(number, wanted);
    const fields = plan.read(this);
    if (isFollowed) this.skip(plan.rest);
    return fields;
  }

  #newPlan(number: number, { names, plans }: FieldSet): RecordPlan {
    const plan = new RecordPlan(this.#shape(number), names);
    plans[number] = plan;
    return plan;
  }

  #someOfMap(count: number, { names }: FieldSet): Value {
    const object: MutableObject = {};
    for (let i = 0; i < count; i++) {
      const key = this.read() as string;
      if (names.has(key)) setField(object, key, this.read());
      else this.skip(1);
    }
    return object;
  }

  skip(count: number): void {
    let bytes = this.#bytes;
    let at = this.#at;
    for (let left = count; left > 0; left--) {
      const head = bytes[at] as number;
      const size = SIZES[head] as number;
      if (size > 0) at += size;
      else {
        this.#at = at + 1;
        left += this.#skipHead(head);
        at = this.#at;
        bytes = this.#bytes;
      }
      if (at > this.#end) throw unreadable(at);
    }
    this.#at = at;
  }

  /** Skips a value without nested ones, or only the head of one; returns how many values follow. */
  #skipHead(head: number): number {
    if (head < 0x80) return this.#shape(this.#shapeNumber(head)).length;
    if (head < 0x90) return 2 * (head - 0x80);
    if (head < 0xa0) return head - 0x90;
    switch (head) {
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#pass(this.#size(head - 0xc7) + 1);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#pass(this.#size(head - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#size(head - 0xdb);
      case 0xde:
      case 0xdf:
        return 2 * this.#size(head - 0xdd);
      default:
        throw unreadable(this.#at);
    }
  }

  #pass(size: number): number {
    this.#at += size;
    return 0;
  }

  read(): Value {
    const head = this.#bytes[this.#at++] as number;
    if (head < 0x40) return head;
    if (head < 0x80) return this.#record(this.#shapeNumber(head));
    if (head < 0x90) return this.#map(head - 0x80);
    if (head < 0xa0) return this.#array(head - 0x90);
    if (head < 0xc0) return this.#text(head - 0xa0);
    if (head >= 0xe0) return head - 0x100;
    return this.#readWide(head);
  }

  #readWide(head: number): Value {
    switch (head) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#size(head - 0xc7));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#size(head - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#size(head - 0xdb));
      case 0xde:
      case 0xdf:
        return this.#map(this.#size(head - 0xdd));
      default:
        return this.#number(head);
    }
  }

  #number(head: number): Value {
    const at = this.#at;
    const view = this.#view;
    this.#at += (SIZES[head] as number) - 1;
    switch (head) {
      case 0xcb:
        return view.getFloat64(at);
      case 0xcc:
        return view.getUint8(at);
      case 0xcd:
        return view.getUint16(at);
      case 0xce:
        return view.getUint32(at);
      case 0xcf:
        return view.getBigUint64(at);
      case 0xd0:
        return view.getInt8(at);
      case 0xd1:
        return view.getInt16(at);
      case 0xd2:
        return view.getInt32(at);
      case 0xd3:
        return view.getBigInt64(at);
      default:
        throw unreadable(at);
    }
  }

  /** A size in 2^width bytes. */
  #size(width: number): number {
    const at = this.#at;
    this.#at += 1 << width;
    if (width === 0) return this.#view.getUint8(at);
    return width === 1 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  /** The first 32 in the head itself, others with a second byte. */
  #shapeNumber(head: number): number {
    if (head < 0x60) return head - 0x40;
    return 0x20 + (head - 0x60) + ((this.#bytes[this.#at++] as number) << 5);
  }

  #shape(number: number): readonly string[] {
    if (this.#shapes[number] === undefined) this.#learnShapes();
    return this.#shapes[number] ?? fail(`expected a known shape, found number ${number}`);
  }

  /** Loading may read the storage into the memory of the lent bytes: so they are copied. */
  #learnShapes(): void {
    this.#bytes = copyOf(this.#bytes, 0, this.#end);
    this.#view = viewOf(this.#bytes);
    this.#shapes = this.#loadShapes();
  }

  /** Compound values are read item by item, except small ones. */
  *#readInSteps(depth: number): Generator<void, Value, void> {
    if (depth >= DEPTH_UNMEASURED && this.#isSmall()) return this.read();
    const head = this.#bytes[this.#at++] as number;
    if (head < 0x80) return yield* this.#recordInSteps(head, depth);
    const isArray = (head >= 0x90 && head < 0xa0) || head === 0xdc || head === 0xdd;
    return isArray ? yield* this.#arrayInSteps(head, depth) : yield* this.#mapInSteps(head, depth);
  }

  *#recordInSteps(head: number, depth: number): Generator<void, Value, void> {
    const object: MutableObject = {};
    for (const key of this.#shape(this.#shapeNumber(head))) {
      if (this.#isPauseDue()) yield;
      setField(object, key, this.#isPlain() ? this.read() : yield* this.#readInSteps(depth + 1));
    }
    return object;
  }

  *#arrayInSteps(head: number, depth: number): Generator<void, Value, void> {
    const count = head < 0xa0 ? head - 0x90 : this.#size(head - 0xdb);
    const array: Value[] = [];
    for (let i = 0; i < count; i++) {
      if (this.#isPauseDue()) yield;
      array.push(this.#isPlain() ? this.read() : yield* this.#readInSteps(depth + 1));
    }
    return array;
  }

  *#mapInSteps(head: number, depth: number): Generator<void, Value, void> {
    const count = head < 0x90 ? head - 0x80 : this.#size(head - 0xdd);
    const object: MutableObject = {};
    for (let i = 0; i < count; i++) {
      if (this.#isPauseDue()) yield;
      const key = this.read() as string;
      setField(object, key, this.#isPlain() ? this.read() : yield* this.#readInSteps(depth + 1));
    }
    return object;
  }

  /** Whether the next value is not compound. */
  #isPlain(): boolean {
    const head = this.#bytes[this.#at] as number;
    return head < 0x40 || (head >= 0xa0 && head < 0xdc) || head >= 0xe0;
  }

  #isPauseDue(): boolean {
    if (this.#at - this.#pausedAt <= BYTES_PER_PAUSE) return false;
    this.#pausedAt = this.#at;
    return true;
  }

  #isSmall(): boolean {
    const start = this.#at;
    this.skip(1);
    const size = this.#at - start;
    this.#at = start;
    return size <= BYTES_PER_PAUSE;
  }

  #record(number: number): Value {
    let plan = this.#plans[number];
    if (plan === undefined) {
      plan = new RecordPlan(this.#shape(number));
      this.#plans[number] = plan;
    }
    return plan.read(this);
  }

  #map(count: number): Value {
    const object: MutableObject = {};
    for (let i = 0; i < count; i++) setField(object, this.read() as string, this.read());
    return object;
  }

  #array(count: number): Value[] {
    const array: Value[] = [];
    for (let i = 0; i < count; i++) array.push(this.read());
    return array;
  }

  #extension(size: number): Value {
    const type = this.#bytes[this.#at] as number;
    const start = this.#at + 1;
    this.#at = start + size;
    if (this.#at > this.#end) throw unreadable(this.#at);
    if (type === EXTENSION_CBOR) return decodeCbor(copyOf(this.#bytes, start, this.#at));
    if (type !== EXTENSION_TYPED_ARRAY || this.#bytes[start] !== TYPED_ARRAY_UINT8) {
      throw unreadable(start);
    }
    return copyOf(this.#bytes, start + 1, this.#at);
  }

  #text(size: number): string {
    const start = this.#at;
    this.#at = start + size;
    return knownText(this.#bytes, start, size, newText);
  }
}

/** One generated function for each size: up to here that is faster than a call out of JS. */
const SHORT_TEXT_SIZE_MAX = 24;
const SHORT_TEXTS: readonly ((bytes: Uint8Array, start: number) => string)[] = Array.from(
  { length: SHORT_TEXT_SIZE_MAX + 1 },
  (_, size) => {
    const units = Array.from({ length: size }, (_unit, i) => `b[s+${i}]`);
    // oxlint-disable-next-line no-new-func, no-implied-eval
    return new Function("b", "s", `return String.fromCharCode(${units.join(",")})`) as never;
  },
);

function newText(bytes: Uint8Array, start: number, size: number): string {
  const make = SHORT_TEXTS[size];
  const end = start + size;
  return make !== undefined && isPlainAt(bytes, start, end)
    ? make(bytes, start)
    : utf8Slice.call(bytes, start, end);
}

function isPlainAt(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] as number;
  return bits < 0x80;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** A copy with its own memory; a slice of a Buffer would be a part of a shared pool. */
function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = new Uint8Array(end - start);
  if (copy.length > SHORT_COPY_SIZE_MAX) copy.set(bytes.subarray(start, end));
  else for (let i = start; i < end; i++) copy[i - start] = bytes[i] as number;
  return copy;
}

/** Up to here a loop is faster than allocating a subarray. */
const SHORT_COPY_SIZE_MAX = 100;

/** Size of a value by its first byte; 0 where that does not determine it. */
const SIZES: Uint8Array = sizesByHead();

function sizesByHead(): Uint8Array {
  const sizes = new Uint8Array(0x100);
  sizes.fill(1, 0, 0x40);
  for (let head = 0xa0; head < 0xc0; head++) sizes[head] = 1 + head - 0xa0;
  sizes[0xc0] = 1;
  sizes[0xc2] = 1;
  sizes[0xc3] = 1;
  sizes[0xcb] = 9;
  for (const first of [0xcc, 0xd0]) {
    for (let width = 0; width < 4; width++) sizes[first + width] = 1 + (1 << width);
  }
  sizes.fill(1, 0xe0);
  return sizes;
}

function unreadable(at: number): Error {
  return new Error(`expected a stored value, found something else at byte ${at}`);
}

function fail(message: string): never {
  throw new Error(message);
}
