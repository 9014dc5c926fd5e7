/**
 * Packed entries: entries of a commit in one buffer, to transfer them to another thread. Each is
 * the size of its key, the size of its value plus one (0 for a removal), the key, the value.
 */

import type { EncodedWrite } from "./encoded-write.ts";

/** The tree of the storage that entries belong to. */
export type PackedTree = "values" | "shapes";

/** One entry: bytes to put, or undefined to remove the key. A key is a byte string. */
export interface UnpackedEntry {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  /** Whether its buffer holds nothing else but free space in front: then it is not copied. */
  readonly isAlone?: boolean;
}

/**
 * The encoded entries, one by one. Empties the list, so that the memory of consumed entries can be
 * freed before the commit is over.
 */
export function* unpacked(encoded: EncodedWrite[]): Generator<UnpackedEntry> {
  const all: (EncodedWrite | undefined)[] = encoded.splice(0);
  for (let i = 0; i < all.length; i++) {
    const each = all[i];
    all[i] = undefined;
    if (each === undefined) continue;
    const { key, chunk, start, size, isAlone } = each;
    yield { key, value: chunk?.subarray(start, start + size), isAlone };
  }
}

const HEAD_SIZE = 8;

/** Approximate size of a piece; a larger entry is a piece of its own. */
export const PIECE_SIZE: number = 64 * 1024;

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

/** All entries in pieces, each of which the caller owns. */
export function* packEntries(entries: Iterable<UnpackedEntry>): Generator<ArrayBuffer> {
  let piece = Buffer.allocUnsafeSlow(PIECE_SIZE);
  let end = 0;
  for (const { key, value, isAlone } of entries) {
    if (isAlone === true && value !== undefined) {
      if (end > 0) yield cut(piece, end);
      yield packedAlone(key, value);
      piece = Buffer.allocUnsafeSlow(PIECE_SIZE);
      end = 0;
      continue;
    }
    const size = packedSize(key, value?.length ?? 0);
    if (end + size > piece.length) {
      if (end > 0) yield cut(piece, end);
      piece = Buffer.allocUnsafeSlow(Math.max(PIECE_SIZE, size));
      end = 0;
    }
    const valueAt = writePackedHead(piece, end, key, value?.length);
    if (value !== undefined) piece.set(value, valueAt);
    end += size;
  }
  if (end > 0) yield cut(piece, end);
}

/** A large value is not copied: its buffer becomes the piece. */
function packedAlone(key: string, { buffer, byteOffset, length }: Uint8Array): ArrayBuffer {
  if (byteOffset !== packedFront(key) || buffer.byteLength !== byteOffset + length) {
    throw new TypeError("expected memory with room for the head and the key, and the value");
  }
  const piece = Buffer.from(buffer);
  writePackedHead(piece, 0, key, length);
  return cut(piece, piece.length);
}

/** The buffer up to `end`. */
function cut(piece: Buffer, end: number): ArrayBuffer {
  const { buffer } = piece;
  if (buffer instanceof ArrayBuffer) return end === piece.length ? buffer : buffer.slice(0, end);
  throw new TypeError("expected memory of its own");
}

/** Calls `take` with each entry of a piece, in order; key and value are lent. */
export function eachEntry(
  packed: ArrayBuffer,
  take: (key: Uint8Array, value: Uint8Array | undefined) => void,
): void {
  const piece = Buffer.from(packed);
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
