/**
 * The record of a commit in the log of IndexedDB, and its codec: the checksum, then for each write the
 * key and its CBOR item, or no item for a removed key.
 *
 * A browser bounds the size of one record, so a large commit is several records. They are written in
 * one transaction, so they are in the log as a whole or not at all.
 */

import type { Key, Writes } from "@bigpeer/engine";
import { ByteReader, ByteWriter, type Value, writeCbor } from "@bigpeer/protocol";
import { checksumOfBytes } from "./checksum.ts";
import type { Change } from "./entry-list.ts";
import { corruptRecord, StoredValue, type ValueBytes } from "./stored-value.ts";

/** The size at which the next record begins. Chromium's largest record is 127 MiB. */
const RECORD_SIZE_MAX: number = 16 * 1024 * 1024;

/** Bytes before the first write: the checksum. */
const HEAD_SIZE = 4;

export interface LogRecord {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

export interface EncodedCommit {
  readonly records: readonly LogRecord[];
  readonly changes: readonly Change[];
  readonly size: number;
}

/** `keep` is called with each value, which is decoded already. */
export function encodeCommit(
  writes: Writes,
  sequence: number,
  keep: (stored: StoredValue, value: Value) => unknown,
): EncodedCommit {
  const records: LogRecord[] = [];
  const changes: Change[] = [];
  const parts = partsOf(writes);
  for (const part of parts) {
    const record = { sequence: sequence + records.length, bytes: part.bytes };
    writeSum(record);
    records.push(record);
    const source: ValueBytes = { bytes: part.bytes, place: placeOf(record), check: undefined };
    for (const { key, start, size, value } of part.places) {
      const stored = value === undefined ? undefined : new StoredValue(source, start, size);
      if (stored !== undefined && value !== undefined) keep(stored, value);
      changes.push([key, stored]);
    }
  }
  const size = records.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return { records, changes, size };
}

/** Throws `store.corrupt` if it is not the record of that number. */
export function decodeLogRecord(sequence: number, stored: unknown): Change[] {
  const place = placeOf({ sequence });
  if (!(stored instanceof Uint8Array) || stored.length < HEAD_SIZE) throw corruptRecord(place);
  if (sumIn(stored) !== sumOf({ sequence, bytes: stored })) throw corruptRecord(place);
  const source: ValueBytes = { bytes: stored, place, check: undefined };
  const changes: Change[] = [];
  const reader = new ByteReader(stored, "store.corrupt", HEAD_SIZE);
  while (reader.left > 0) {
    const key = reader.byteString(reader.varint());
    const size = reader.varint();
    if (size > reader.left) throw corruptRecord(place);
    const start = reader.offset;
    changes.push([key, size === 0 ? undefined : new StoredValue(source, start, size)]);
    reader.seek(start + size, stored.length);
  }
  return changes;
}

interface Place {
  readonly key: Key;
  readonly start: number;
  readonly size: number;
  readonly value: Value | undefined;
}

interface Part {
  readonly bytes: Uint8Array;
  readonly places: readonly Place[];
}

/** For each value, and for all of a record. They are used again, unless they became large. */
let item = new ByteWriter(1024);
let writer = new ByteWriter(1024);
const KEPT_SIZE_MAX: number = 256 * 1024;

function partsOf(writes: Writes): Part[] {
  const parts: Part[] = [];
  let places: Place[] = [];
  const end = (): void => {
    if (places.length === 0) return;
    const bytes = writer.finish();
    parts.push({ bytes, places });
    places = [];
    if (bytes.length > KEPT_SIZE_MAX) [item, writer] = [new ByteWriter(1024), new ByteWriter(1024)];
  };
  for (const [key, value] of writes) {
    if (writer.size > RECORD_SIZE_MAX) end();
    if (places.length === 0) {
      writer.reset();
      writer.uint32(0);
    }
    item.reset();
    if (value !== undefined) writeCbor(item, value);
    writer.varint(key.length);
    writer.ascii(key);
    writer.varint(item.size);
    places.push({ key, start: writer.size, size: item.size, value });
    writer.append(item);
  }
  end();
  return parts;
}

function writeSum(record: LogRecord): void {
  viewOf(record.bytes).setUint32(0, sumOf(record));
}

function sumIn(bytes: Uint8Array): number {
  return viewOf(bytes).getUint32(0);
}

function sumOf({ sequence, bytes }: LogRecord): number {
  return checksumOfBytes(bytes.subarray(HEAD_SIZE), sequence);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function placeOf({ sequence }: Pick<LogRecord, "sequence">): string {
  return `log record ${sequence} of the database`;
}
