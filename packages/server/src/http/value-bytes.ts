/**
 * Value writer: encodes a value as JSON or CBOR, in time slices and within a size bound (H42).
 *
 * Long answers are objects with a long array in a field. Such arrays are written in pieces of some
 * elements, with other work in between when it takes long. The first piece beyond the bound ends
 * the write with an error. Elements with long lists of their own are written alike. The bytes are
 * the same as if they were written at once.
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
import { ANSWER_SIZE_MAX } from "../limits/limits.ts";
import { LONG_WORK, type LoopShare } from "../limits/loop-share.ts";
import type { AnswerForm } from "./negotiation.ts";

export interface WriteBounds {
  readonly sizeMax: number;
  /** Share of the event loop for all writing, before other work runs. */
  readonly share: LoopShare;
  /** Field of the elements that is itself a long list; undefined when none is. */
  readonly innerList?: string | undefined;
}

export const BOUNDS: WriteBounds = { sizeMax: ANSWER_SIZE_MAX, share: LONG_WORK };

/** For answers that must be sent whatever their size. */
export const NO_BOUNDS: WriteBounds = { ...BOUNDS, sizeMax: Number.POSITIVE_INFINITY };

/** Target size of a piece: large enough to be fast, and a fraction of a time slice. */
const PIECE_SIZE: number = 64 * 1024;

/**
 * Returns a text when it is JSON that was written at once, and a promise only when other work ran
 * in between. Throws `query.too_large` beyond the bound.
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

/** A character has at most three bytes, so a short text need not be measured. */
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

/** An answer written within this time does not wait behind longer ones. */
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

  /** Lets other work run. */
  async pause(): Promise<void> {
    this.#endMs = await this.#bounds.share.turn();
  }

  /** Takes pieces until none is left or the time slice is over. Returns whether more are left. */
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

  /** Copying much takes time as well. */
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

/** The head of an array or map: that of a number, with another major type in its first bits. */
function cborHead(kind: number, count: number): Uint8Array {
  const head = encodeCbor(count);
  head[0] = kind | (head[0] ?? 0);
  return head;
}

/** Writes elements: some at once, or a long one in pieces. */
interface ElementWriter {
  readonly some: (elements: Value[], isFirst: boolean) => Uint8Array;
  readonly one: (element: ValueObject, isFirst: boolean) => Generator<Uint8Array, void>;
}

function* arrayPieces(
  array: readonly Value[],
  { innerList }: Inner,
  write: ElementWriter,
): Generator<Uint8Array, void> {
  // The first may be a document of megabytes; the count adapts to the size of the pieces.
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

/** End of `count` elements, or the first long one. */
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
