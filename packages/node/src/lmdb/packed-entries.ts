/**
 * Packed entries: entries of a commit in one buffer, to transfer them to another thread. Each is
 * the size of its key, the size of its value plus one (0 for a removal), the key, the value.
 */

import type { EncodedWrite } from "./encoded-write.ts";

/** The tree of the storage that entries belong to. */
export type PackedTree = "values" | "shapes";

/** Entries behind each other, from the start of memory that holds nothing else. */
export type PackedPiece = Uint8Array<ArrayBuffer>;

const HEAD_SIZE = 8;

/**
 * Approximate size of a piece; a larger entry is a piece of its own. Each piece costs the main thread
 * a message and its answer, and is packed without a pause.
 */
export const PIECE_SIZE: number = 256 * 1024;

/** The free space that an entry needs in front of its value to be a piece without a copy. */
export function packedFront(key: string): number {
  return HEAD_SIZE + key.length;
}

/** The size of an entry when it is packed. */
export function packedSize(key: string, valueSize: number): number {
  return HEAD_SIZE + key.length + valueSize;
}

/**
 * Writes the head and the key of an entry at `at`, and returns where its value begins; `valueSize`
 * is undefined for a removal.
 */
export function writePackedHead(
  target: Buffer,
  at: number,
  key: string,
  valueSize: number | undefined,
): number {
  target.writeUInt32LE(key.length, at);
  target.writeUInt32LE(valueSize === undefined ? 0 : valueSize + 1, at + 4);
  target.write(key, at + HEAD_SIZE, "latin1");
  return at + HEAD_SIZE + key.length;
}

/**
 * The encoded entries in pieces, each of which the caller owns. Empties the list, so that the memory
 * of packed entries can be freed before the commit is over.
 */
export function* packEntries(encoded: EncodedWrite[]): Generator<PackedPiece> {
  const all: (EncodedWrite | undefined)[] = encoded.splice(0);
  const packer = new Packer();
  for (let i = 0; i < all.length; i++) {
    const each = all[i] as EncodedWrite;
    all[i] = undefined;
    const { key, chunk, start, size, place } = each;
    if (place === "alone") {
      const before = packer.cut();
      if (before !== undefined) yield before;
      yield packedAlone(each);
      continue;
    }
    const full = packer.makeRoom(packedSize(key, size));
    if (full !== undefined) yield full;
    if (chunk === undefined) packer.addHead(key, undefined);
    else if (place === "packed") packer.addPacked(chunk, start - packedFront(key), start + size);
    else {
      // Copied without a view of the value: a view costs more than most values.
      const valueAt = packer.addHead(key, size);
      chunk.copy(packer.piece, valueAt, start, start + size);
    }
  }
  const last = packer.cut();
  if (last !== undefined) yield last;
}

/** The piece that is being filled. */
class Packer {
  piece: Buffer = NO_PIECE;
  #end = 0;
  /** Packed entries whose copy to the end of the piece is due: those of a commit lie together. */
  #run: { readonly chunk: Buffer; readonly from: number; to: number } | undefined;

  /** Makes room for an entry of this size. Returns the piece so far if the entry does not fit. */
  makeRoom(size: number): PackedPiece | undefined {
    if (this.#end + size <= this.piece.length) return undefined;
    const full = this.cut();
    this.piece = Buffer.allocUnsafeSlow(Math.max(PIECE_SIZE, size));
    return full;
  }

  /** Adds an entry, for which there is room. Returns where its value, to be copied, begins. */
  addHead(key: string, valueSize: number | undefined): number {
    this.#copyRun();
    const valueAt = writePackedHead(this.piece, this.#end, key, valueSize);
    this.#end = valueAt + (valueSize ?? 0);
    return valueAt;
  }

  /** Adds an entry that is packed in `chunk`, for which there is room. */
  addPacked(chunk: Buffer, from: number, to: number): void {
    const run = this.#run;
    if (run !== undefined && run.chunk === chunk && run.to === from) run.to = to;
    else {
      this.#copyRun();
      this.#run = { chunk, from, to };
    }
    this.#end += to - from;
  }

  #copyRun(): void {
    const run = this.#run;
    if (run === undefined) return;
    run.chunk.copy(this.piece, this.#end - (run.to - run.from), run.from, run.to);
    this.#run = undefined;
  }

  /** Ends the piece; undefined when nothing is in it. */
  cut(): PackedPiece | undefined {
    if (this.#end === 0) return undefined;
    this.#copyRun();
    const full = cut(this.piece, this.#end);
    this.piece = NO_PIECE;
    this.#end = 0;
    return full;
  }
}

const NO_PIECE = Buffer.alloc(0);

/** A large value is not copied: its buffer becomes the piece. */
function packedAlone({ key, chunk, start, size }: EncodedWrite): PackedPiece {
  if (start !== packedFront(key) || chunk?.buffer.byteLength !== start + size) {
    throw new TypeError("expected memory with room for the head and the key, and the value");
  }
  const piece = Buffer.from(chunk.buffer);
  writePackedHead(piece, 0, key, size);
  return cut(piece, piece.length);
}

/** The piece up to `end`, in the memory that it has. */
function cut({ buffer }: Buffer, end: number): PackedPiece {
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer, 0, end);
  throw new TypeError("expected memory of its own");
}

/** Calls `take` with each entry of a piece, in order; key and value are lent. */
export function eachEntry(
  { buffer, byteOffset, length }: PackedPiece,
  take: (key: Uint8Array, value: Uint8Array | undefined) => void,
): void {
  const piece = Buffer.from(buffer, byteOffset, length);
  for (let at = 0; at < piece.length; ) {
    const entry = packedAt(piece, at);
    at = entry.end;
    const value = entry.isRemoval ? undefined : piece.subarray(entry.valueAt, at);
    take(piece.subarray(entry.keyAt, entry.valueAt), value);
  }
}

/** Where the parts of a packed entry lie. */
export interface PackedPlace {
  readonly keyAt: number;
  readonly valueAt: number;
  readonly end: number;
  readonly isRemoval: boolean;
}

export function packedAt(piece: Buffer, at: number): PackedPlace {
  const keyAt = at + HEAD_SIZE;
  const valueAt = keyAt + piece.readUInt32LE(at);
  const size = piece.readUInt32LE(at + 4);
  return { keyAt, valueAt, end: valueAt + Math.max(0, size - 1), isRemoval: size === 0 };
}
