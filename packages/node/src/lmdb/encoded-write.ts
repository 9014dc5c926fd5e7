/**
 * EncodedWrite: one entry of a commit as bytes: a value to put, or the removal of a key.
 */

import type { Key } from "@bigpeer/engine";
import type { EntrySize } from "./page-estimate.ts";

/** Bytes to put, or a removal. */
export type EncodedWrite = LentBytes | Removal;

export interface Removal extends EntrySize {
  readonly key: Key;
  readonly chunk: undefined;
  readonly start: number;
  readonly place: "shared";
}

/**
 * Where the bytes lie in their chunk: with other bytes around them; alone, with nothing but free
 * space in front; or packed, behind their head and key (packed-entries.ts).
 */
export type BytesPlace = "shared" | "alone" | "packed";

/** Bytes inside a larger buffer: one buffer for each value would cost more than most values. */
export interface LentBytes {
  /** The key of the value. */
  readonly key: string;
  readonly keySize: number;
  /** The first part of its ArrayBuffer, so that offsets in both are the same. */
  chunk: Buffer;
  start: number;
  readonly size: number;
  place: BytesPlace;
}

/** Notes that the bytes were copied behind their head and key, and are no longer lent. */
export function moveToPacked(value: LentBytes, chunk: Buffer, start: number): void {
  value.chunk = chunk;
  value.start = start;
  value.place = "packed";
}

/** Bytes as they are, in memory that may hold others. */
export function encodedAs(key: Key, { buffer, byteOffset, length }: Uint8Array): LentBytes {
  const chunk = Buffer.from(buffer);
  return { key, keySize: key.length, chunk, start: byteOffset, size: length, place: "shared" };
}
