/**
 * A value as bytes or text, in JSON or in CBOR, within a bound.
 *
 * Long answers are lists: an object with a long array in one of its fields. Those are written in
 * pieces of some elements; between them others have their turn when it takes long, and the first
 * piece beyond the bound is the last one. The bytes are the same as if they were written at once.
 */

import { setImmediate } from "node:timers/promises";
import {
  encodeCbor,
  isArray,
  isObject,
  PeerError,
  stringifyJson,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { ANSWER_SIZE_MAX } from "../limits.ts";
import type { AnswerForm } from "./negotiation.ts";

export interface WriteBounds {
  readonly sizeMax: number;
  /** How long we work before others have their turn. */
  readonly sliceMs: number;
}

const BOUNDS: WriteBounds = { sizeMax: ANSWER_SIZE_MAX, sliceMs: 10 };

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
  if (isLong(value)) {
    return collect(form === "json" ? jsonPieces(value) : cborPieces(value), bounds);
  }
  const written = form === "json" ? `${stringifyJson(value)}\n` : encodeCbor(value);
  if (isLarger(written, bounds.sizeMax)) throw tooLarge(bounds);
  return written;
}

/** A character has at most three bytes, so those of a short text need not be counted. */
function isLarger(written: string | Uint8Array, size: number): boolean {
  return 3 * written.length > size && Buffer.byteLength(written) > size;
}

function isLong(value: Value): value is ValueObject {
  if (!isObject(value)) return false;
  for (const key in value) {
    const field = value[key] as Value;
    if (isArray(field) && field.length > 1) return true;
  }
  return false;
}

type Pieces = Iterator<Uint8Array, void>;

class Collection {
  readonly #bounds: WriteBounds;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(bounds: WriteBounds) {
    this.#bounds = bounds;
  }

  /** Takes pieces until there are no more, or the slice is over. Returns whether there are more. */
  takeSlice(pieces: Pieces): boolean {
    const end = performance.now() + this.#bounds.sliceMs;
    do {
      const { done, value } = pieces.next();
      if (done === true) return false;
      this.#pieces.push(value);
      this.#size += value.length;
      if (this.#size > this.#bounds.sizeMax) throw tooLarge(this.#bounds);
    } while (performance.now() < end);
    return true;
  }

  join(): Uint8Array {
    return Buffer.concat(this.#pieces, this.#size);
  }

  /** Copying much takes its time as well. */
  async joinInSlices(): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafe(this.#size);
    let offset = 0;
    let end = performance.now() + this.#bounds.sliceMs;
    for (const piece of this.#pieces) {
      bytes.set(piece, offset);
      offset += piece.length;
      if (performance.now() < end) continue;
      await setImmediate();
      end = performance.now() + this.#bounds.sliceMs;
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
    await setImmediate();
  } while (collection.takeSlice(pieces));
  return collection.joinInSlices();
}

function* jsonPieces(object: ValueObject): Generator<Uint8Array, void> {
  let before = "{";
  for (const key of Object.keys(object)) {
    before += `${JSON.stringify(key)}:`;
    const field = object[key] as Value;
    if (isArray(field)) {
      yield Buffer.from(`${before}[`);
      yield* arrayPieces(field, (elements, isFirst) => {
        const text = stringifyJson(elements);
        return Buffer.from((isFirst ? "" : ",") + text.slice(1, -1));
      });
      before = "],";
    } else {
      yield Buffer.from(before + stringifyJson(field));
      before = ",";
    }
  }
  yield Buffer.from(before === "," ? "}\n" : "]}\n");
}

function* cborPieces(object: ValueObject): Generator<Uint8Array, void> {
  const keys = Object.keys(object);
  yield cborHead(MAP, keys.length);
  for (const key of keys) {
    yield encodeCbor(key);
    const field = object[key] as Value;
    if (isArray(field)) {
      yield cborHead(ARRAY, field.length);
      yield* arrayPieces(field, (elements) => {
        return encodeCbor(elements).subarray(cborHead(ARRAY, elements.length).length);
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

function* arrayPieces(
  array: readonly Value[],
  write: (elements: Value[], isFirst: boolean) => Uint8Array,
): Generator<Uint8Array, void> {
  // The first may be a document of megabytes; how many go together follows from what they are.
  let count = 1;
  for (let from = 0; from < array.length; ) {
    const bytes = write(array.slice(from, from + count), from === 0);
    yield bytes;
    from += count;
    if (bytes.length < PIECE_SIZE / 2) count *= 2;
    else if (bytes.length > PIECE_SIZE) count = Math.max(1, count >> 1);
  }
}

function tooLarge({ sizeMax }: WriteBounds): PeerError {
  const message = `the answer is larger than ${sizeMax} bytes; ask for fewer rows with LIMIT`;
  return new PeerError("query.too_large", message);
}
