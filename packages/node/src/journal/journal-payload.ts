/**
 * Journal payload: the writes of a commit in an entry of the journal: the number of records of the
 * tree of shapes, these records, then the values, all as packed entries.
 *
 * The encoded values are copied here once. Then the table in memory, the journal and the tree use
 * the same bytes.
 */

import { type EncodedWrite, moveToPacked } from "../lmdb/encoded-write.ts";
import { packedAt, packedSize, writePackedHead } from "../lmdb/packed-entries.ts";
import type { ShapeRecord } from "../lmdb/shape-records.ts";
import { atOnce } from "../slices.ts";

/** What one commit brings to the tree. */
export interface JournaledWrites {
  readonly values: readonly EncodedWrite[];
  readonly beside: readonly ShapeRecord[];
}

const COUNT_SIZE = 4;

/** Writes that are copied between two possible pauses: about a millisecond. */
const WRITES_PER_PAUSE = 1024;

export function payloadSize({ values, beside }: JournaledWrites): number {
  let size = COUNT_SIZE;
  for (const { key, value } of beside) size += packedSize(key, value.length);
  for (const each of values) size += packedSize(each.key, each.size);
  return size;
}

/** Writes the payload at `start`. The values lie there from now on. */
export function writePayload(target: Buffer, start: number, writes: JournaledWrites): void {
  atOnce(writePayloadInSteps(target, start, writes));
}

/** As writePayload, with pauses. */
export function* writePayloadInSteps(
  target: Buffer,
  start: number,
  { values, beside }: JournaledWrites,
): Generator<void, void> {
  target.writeUInt32LE(beside.length, start);
  let at = start + COUNT_SIZE;
  for (const { key, value } of beside) {
    const valueAt = writePackedHead(target, at, key, value.length);
    target.set(value, valueAt);
    at = valueAt + value.length;
  }
  let written = 0;
  for (const each of values) {
    if (++written % WRITES_PER_PAUSE === 0) yield;
    const { key, chunk, size } = each;
    const valueAt = writePackedHead(target, at, key, chunk === undefined ? undefined : size);
    at = valueAt + size;
    if (chunk === undefined) continue;
    chunk.copy(target, valueAt, each.start, each.start + size);
    moveToPacked(each, target, valueAt);
  }
}

/** The values keep the memory of the payload. */
export function readPayload(payload: Buffer): JournaledWrites {
  // Offsets in a chunk count from the start of its memory (encoded-write.ts).
  const chunk = Buffer.from(payload.buffer, 0, payload.byteOffset + payload.length);
  const values: EncodedWrite[] = [];
  const beside: ShapeRecord[] = [];
  const besideCount = payload.readUInt32LE(0);
  for (let at = payload.byteOffset + COUNT_SIZE; at < chunk.length; ) {
    const { keyAt, valueAt, end, isRemoval } = packedAt(chunk, at);
    const key = chunk.toString("latin1", keyAt, valueAt);
    if (beside.length < besideCount) beside.push({ key, value: chunk.subarray(valueAt, end) });
    else if (isRemoval) {
      values.push({
        key,
        keySize: key.length,
        chunk: undefined,
        start: 0,
        size: 0,
        place: "shared",
      });
    } else {
      const size = end - valueAt;
      values.push({ key, keySize: key.length, chunk, start: valueAt, size, place: "packed" });
    }
    at = end;
  }
  return { values, beside };
}
