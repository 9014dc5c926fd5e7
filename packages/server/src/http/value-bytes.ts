/**
 * A value as bytes or text, in JSON or in CBOR, within a bound.
 *
 * Long answers are lists: an object with a long array in one of its fields. Those are written in
 * pieces of some elements; between them others have their turn when it takes long, and the first
 * piece beyond the bound is the last one. Where the elements have long lists themselves, those are
 * written alike. The bytes are the same as if they were written at once.
 */

import {
  encodeCbor,
  getField,
  isArray,
  isObject,
  PeerError,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { ANSWER_SIZE_MAX } from "../limits.ts";
import { LONG_WORK, type LoopShare } from "../loop-share.ts";
import type { AnswerForm } from "./negotiation.ts";

export interface WriteBounds {
  readonly sizeMax: number;
  /** What all that is written has of the event loop, before others have their turn. */
  readonly share: LoopShare;
  /** The field of the elements that is a long list itself; undefined when none is. */
  readonly innerList?: string | undefined;
}

export const BOUNDS: WriteBounds = { sizeMax: ANSWER_SIZE_MAX, share: LONG_WORK };

/** For what must be told whatever its size. */
export const NO_BOUNDS: WriteBounds = { ...BOUNDS, sizeMax: Number.POSITIVE_INFINITY };

/** The size that a piece should have: large enough to be quick, a fraction of a slice to write. */
const PIECE_SIZE: number = 64 * 1024;

/**
 * A text when it is JSON that was written at once; a promise only when others had to have their
 * turn. Throws `query.too_large` beyond the bound.
 */
export function writeValue(
  value: Value,
  form: AnswerForm,
  bounds: WriteBounds = BOUNDS,
): string | Uint8Array | Promise<Uint8Array> {
  if (isLong(value, bounds)) {
    const pieces = form === "json" ? jsonPieces(value, bounds) : cborPieces(value, bounds);
    return collect(pieces, bounds);
  }
  const written = form === "json" ? `${stringifyJson(value)}\n` : encodeCbor(value);
  if (isLarger(written, bounds.sizeMax)) throw tooLarge(bounds);
  return written;
}

/** A character has at most three bytes, so those of a short text need not be counted. */
function isLarger(written: string | Uint8Array, size: number): boolean {
  return 3 * written.length > size && Buffer.byteLength(written) > size;
}

function isLong(value: Value, { innerList }: Inner): value is ValueObject {
  if (!isObject(value)) return false;
  const shortest = innerList === undefined ? 1 : 0;
  for (const key in value) {
    const field = value[key] as Value;
    if (isArray(field) && field.length > shortest) return true;
  }
  return false;
}

type Pieces = Iterator<Uint8Array, void>;

/** What is written in this time does not wait behind answers that are longer. */
const SHORT_MS = 1;

class Collection {
  readonly #bounds: WriteBounds;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;
  #endMs: number;

  constructor(bounds: WriteBounds) {
    this.#bounds = bounds;
    this.#endMs = bounds.share.begin(SHORT_MS);
  }

  /** Lets others have their turn. */
  async pause(): Promise<void> {
    this.#endMs = await this.#bounds.share.turn();
  }

  /** Takes pieces until there are no more, or the slice is over. Returns whether there are more. */
  takeSlice(pieces: Pieces): boolean {
    do {
      const { done, value } = pieces.next();
      if (done === true) return false;
      this.#pieces.push(value);
      this.#size += value.length;
      if (this.#size > this.#bounds.sizeMax) throw tooLarge(this.#bounds);
    } while (performance.now() < this.#endMs);
    return true;
  }

  join(): Uint8Array {
    return Buffer.concat(this.#pieces, this.#size);
  }

  /** Copying much takes its time as well. */
  async joinInSlices(): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafe(this.#size);
    let offset = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
      if (performance.now() >= this.#endMs) await this.pause();
    }
    return bytes;
  }
}

function collect(pieces: Pieces, bounds: WriteBounds): Uint8Array | Promise<Uint8Array> {
  const collection = new Collection(bounds);
  return collection.takeSlice(pieces) ? collectRest(pieces, collection) : collection.join();
}

async function collectRest(pieces: Pieces, collection: Collection): Promise<Uint8Array> {
  do {
    await collection.pause();
  } while (collection.takeSlice(pieces));
  return collection.joinInSlices();
}

type Inner = Pick<WriteBounds, "innerList">;

function* jsonPieces(object: ValueObject, inner: Inner): Generator<Uint8Array, void> {
  yield* jsonObject(object, inner);
  yield Buffer.from("\n");
}

function* jsonObject(object: ValueObject, inner: Inner): Generator<Uint8Array, void> {
  let before = "{";
  for (const key of Object.keys(object)) {
    before += `${JSON.stringify(key)}:`;
    const field = object[key] as Value;
    if (isArray(field)) {
      yield Buffer.from(`${before}[`);
      yield* arrayPieces(field, inner, {
        some: (elements, isFirst) => {
          const text = stringifyJson(elements);
          return Buffer.from((isFirst ? "" : ",") + text.slice(1, -1));
        },
        one: function* one(element, isFirst) {
          if (!isFirst) yield Buffer.from(",");
          yield* jsonObject(element, {});
        },
      });
      before = "],";
    } else {
      yield Buffer.from(before + stringifyJson(field));
      before = ",";
    }
  }
  yield Buffer.from(before === "," ? "}" : "]}");
}

function* cborPieces(object: ValueObject, inner: Inner): Generator<Uint8Array, void> {
  const keys = Object.keys(object);
  yield cborHead(MAP, keys.length);
  for (const key of keys) {
    yield encodeCbor(key);
    const field = object[key] as Value;
    if (isArray(field)) {
      yield cborHead(ARRAY, field.length);
      yield* arrayPieces(field, inner, {
        some: (elements) => encodeCbor(elements).subarray(cborHead(ARRAY, elements.length).length),
        one: (element) => cborPieces(element, {}),
      });
    } else yield encodeCbor(field);
  }
}

const ARRAY = 0x80;
const MAP = 0xa0;

/** The head of an array or a map: that of a number, with another kind in its first three bits. */
function cborHead(kind: number, count: number): Uint8Array {
  const head = encodeCbor(count);
  head[0] = kind | (head[0] ?? 0);
  return head;
}

/** How elements are written: some at once, or one that is long in pieces. */
interface ElementWriter {
  readonly some: (elements: Value[], isFirst: boolean) => Uint8Array;
  readonly one: (element: ValueObject, isFirst: boolean) => Generator<Uint8Array, void>;
}

function* arrayPieces(
  array: readonly Value[],
  { innerList }: Inner,
  write: ElementWriter,
): Generator<Uint8Array, void> {
  // The first may be a document of megabytes; how many go together follows from what they are.
  let count = 1;
  for (let from = 0; from < array.length; ) {
    const isFirst = from === 0;
    const first = array[from] as Value;
    if (innerList !== undefined && hasLongList(first, innerList)) {
      yield* write.one(first, isFirst);
      from++;
      continue;
    }
    const elements = array.slice(from, endOfSome(array, from, count, innerList));
    const bytes = write.some(elements, isFirst);
    yield bytes;
    from += elements.length;
    if (bytes.length < PIECE_SIZE / 2) count *= 2;
    else if (bytes.length > PIECE_SIZE) count = Math.max(1, count >> 1);
  }
}

/** Where `count` elements end, or the first that is long. */
function endOfSome(
  array: readonly Value[],
  from: number,
  count: number,
  innerList: string | undefined,
): number {
  if (innerList === undefined) return from + count;
  for (let i = from + 1; i < from + count && i < array.length; i++) {
    if (hasLongList(array[i] as Value, innerList)) return i;
  }
  return from + count;
}

function hasLongList(element: Value, name: string): element is ValueObject {
  if (!isObject(element)) return false;
  const list = getField(element, name);
  return list !== undefined && isArray(list) && list.length > 1;
}

function tooLarge({ sizeMax }: WriteBounds): PeerError {
  const message = `the answer is larger than ${sizeMax} bytes; ask for fewer rows with LIMIT`;
  return new PeerError("query.too_large", message);
}
