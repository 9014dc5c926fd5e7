/**
 * Shape records: the stored form of the table of shapes, each shape under its number, and the mark
 * that every record of the storage has a checksum.
 *
 * A damaged shape would give wrong names to the fields of many documents, so each has a checksum
 * too, and none may be missing between others.
 */

import type { Key } from "@bigpeer/engine";
import { decodeCbor, encodeCbor, PeerError, type Value } from "@bigpeer/protocol";
import { CHECK_SIZE, RecordCheck } from "./record-check.ts";
import { SHAPE_COUNT_MAX } from "./shape-table.ts";

export interface ShapeRecord {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** Marks that every record has a checksum. */
export const ALL_CHECKED_KEY = "checked";

/** Key after the last possible shape. */
export const SHAPES_END: Key = shapeKey(SHAPE_COUNT_MAX);

const checksummer = new RecordCheck(true);

export function shapeKey(number: number): Key {
  return String.fromCharCode(number >> 8, number & 0xff);
}

/** The records of shapes whose first has the number `first`. */
export function shapeRecords(first: number, shapes: readonly string[][]): ShapeRecord[] {
  return shapes.map((shape, i) => recordBeside(shapeKey(first + i), encodeCbor(shape)));
}

export function markRecord(): ShapeRecord {
  return recordBeside(ALL_CHECKED_KEY, encodeCbor(true));
}

/** A record of the tree of shapes, with its checksum. */
export function recordBeside(key: Key, content: Uint8Array): ShapeRecord {
  const value = new Uint8Array(CHECK_SIZE + content.length);
  value.set(content, CHECK_SIZE);
  checksummer.writeChecksum(value, 0, value.length, key);
  return { key, value };
}

/** The content of such a record. Throws if the record is damaged. */
export function contentBeside({ key, value }: ShapeRecord): Value {
  return decodeCbor(value.subarray(checksummer.valueStart(value, value.length, key)));
}

/** Decodes these records of shapes, from number `first` on. Throws `store.corrupt`. */
export function readShapes(
  mark: Uint8Array | undefined,
  first: number,
  records: Iterable<ShapeRecord>,
): (readonly string[])[] {
  const check = new RecordCheck(mark !== undefined);
  const shapes: (readonly string[])[] = [];
  try {
    if (mark !== undefined) check.valueStart(mark, mark.length, ALL_CHECKED_KEY);
    for (const { key, value } of records) {
      const start = check.valueStart(value, value.length, key);
      if (key !== shapeKey(first + shapes.length)) throw new Error("expected the next shape");
      shapes.push(decodeCbor(value.subarray(start)) as readonly string[]);
    }
  } catch (cause) {
    throw new PeerError("store.corrupt", "expected the shapes that were stored", { cause });
  }
  return shapes;
}
