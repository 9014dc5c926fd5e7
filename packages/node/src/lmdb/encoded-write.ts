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
  readonly isAlone: false;
}

/** Bytes inside a larger buffer: one buffer for each value would cost more than most values. */
export interface LentBytes {
  /** The key of the value. */
  readonly key: string;
  readonly keySize: number;
  /** The first part of its ArrayBuffer, so that offsets in both are the same. */
  chunk: Buffer;
  start: number;
  readonly size: number;
  /** Whether the chunk holds nothing else but free space in front (packed-entries.ts). */
  isAlone: boolean;
}

/** Notes that the bytes were copied, and are no longer lent. */
export function moveTo(value: LentBytes, chunk: Buffer, start: number): void {
  value.chunk = chunk;
  value.start = start;
  value.isAlone = false;
}

/** Bytes as they are, in memory that may hold others. */
export function encodedAs(key: Key, { buffer, byteOffset, length }: Uint8Array): LentBytes {
  const chunk = Buffer.from(buffer);
  return { key, keySize: key.length, chunk, start: byteOffset, size: length, isAlone: false };
}
