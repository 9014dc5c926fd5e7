/**
 * Entries of a commit in one buffer, as they go from one thread to another: for each the size of its
 * key, the size of its value and one more (0 for a removal), the key, the value.
 */

import type { EncodedWrite } from "./commit-encoder.ts";

/** Which tree of the storage entries belong to. */
export type PackedTree = "values" | "shapes";

/** One entry: bytes to be put, or undefined to remove the key. Keys are text of bytes. */
export interface UnpackedEntry {
  readonly key: string;
  readonly value: Uint8Array | undefined;
}

/** What was encoded, one by one: the bytes are lent. */
export function* unpacked(encoded: readonly EncodedWrite[]): Generator<UnpackedEntry> {
  for (const { key, chunk, start, size } of encoded) {
    yield { key, value: chunk?.subarray(start, start + size) };
  }
}

const HEAD_SIZE = 8;

/** About what a piece has; an entry that is larger is a piece of its own. */
export const PIECE_SIZE: number = 64 * 1024;

/** All entries in pieces, each of which is the taker's. */
export function* packEntries(entries: Iterable<UnpackedEntry>): Generator<ArrayBuffer> {
  let piece = Buffer.allocUnsafeSlow(PIECE_SIZE);
  let end = 0;
  for (const { key, value } of entries) {
    const size = HEAD_SIZE + key.length + (value?.length ?? 0);
    if (end + size > piece.length) {
      if (end > 0) yield cut(piece, end);
      piece = Buffer.allocUnsafeSlow(Math.max(PIECE_SIZE, size));
      end = 0;
    }
    piece.writeUInt32LE(key.length, end);
    piece.writeUInt32LE(value === undefined ? 0 : value.length + 1, end + 4);
    piece.write(key, end + HEAD_SIZE, "latin1");
    if (value !== undefined) piece.set(value, end + HEAD_SIZE + key.length);
    end += size;
  }
  if (end > 0) yield cut(piece, end);
}

/** What is taken is not read further than this. */
function cut(piece: Buffer, end: number): ArrayBuffer {
  const { buffer } = piece;
  if (buffer instanceof ArrayBuffer) return end === piece.length ? buffer : buffer.slice(0, end);
  throw new TypeError("expected memory of its own");
}

/** Calls it with each entry of a piece, in order; both are lent. */
export function eachEntry(
  packed: ArrayBuffer,
  take: (key: Uint8Array, value: Uint8Array | undefined) => void,
): void {
  const piece = Buffer.from(packed);
  for (let at = 0; at < piece.length; ) {
    const keyAt = at + HEAD_SIZE;
    const valueAt = keyAt + piece.readUInt32LE(at);
    const size = piece.readUInt32LE(at + 4);
    at = valueAt + Math.max(0, size - 1);
    take(piece.subarray(keyAt, valueAt), size === 0 ? undefined : piece.subarray(valueAt, at));
  }
}
