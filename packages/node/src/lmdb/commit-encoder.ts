/**
 * CommitEncoder: encodes the entries of a commit as the bytes that LMDB stores, with checksums.
 *
 * Most commits are small and are encoded at once. Many entries, or large values like the log record
 * of an upload, are encoded in time slices, to the same bytes. Each record gets its checksum here,
 * and nowhere else.
 */

import { KEY_SIZE_MAX, type Key, type Writes } from "@bigpeer/engine";
import { assert, type Value } from "@bigpeer/protocol";
import { type SliceClock, Slices } from "../slices.ts";
import type { EncodedWrite, LentBytes, Removal } from "./encoded-write.ts";
import { CHECK_SIZE, RecordCheck } from "./record-check.ts";
import type { ShapeTable } from "./shape-table.ts";
import { TOO_LARGE, ValueEncoder } from "./stored-value.ts";

/** Entries that are encoded, and passed to lmdb, at once: about ten milliseconds of each. */
export const ENTRIES_AT_ONCE = 4096;

/** Entries between two possible pauses. */
const ENTRIES_PER_PAUSE = 64;

export class CommitEncoder {
  readonly #encoder: ValueEncoder;
  readonly #clock: SliceClock;
  readonly #check = new RecordCheck(true);

  constructor(table: ShapeTable, clock: SliceClock) {
    this.#encoder = new ValueEncoder(table, CHECK_SIZE);
    this.#clock = clock;
  }

  /** Undefined when the commit is too large. The result is lent until release(). */
  atOnce(writes: Writes): EncodedWrite[] | undefined {
    if (writes.size > ENTRIES_AT_ONCE) return undefined;
    this.release();
    const encoded: EncodedWrite[] = [];
    try {
      writes.forEach((value, key) => {
        assertKey(key);
        encoded.push(
          value === undefined
            ? removalOf(key)
            : this.#withChecksum(this.#encoder.encodeAtOnce(value, key, true)),
        );
      });
    } catch (error) {
      if (error === TOO_LARGE) return undefined;
      throw error;
    }
    return encoded;
  }

  /** As atOnce, with pauses for other work. */
  inSlices(writes: Writes): Promise<EncodedWrite[]> {
    return new Slices(this.#clock).take(this.#inSteps(writes));
  }

  release(): void {
    this.#encoder.release();
  }

  *#inSteps(writes: Writes): Generator<void, EncodedWrite[]> {
    this.release();
    const encoded: EncodedWrite[] = [];
    for (const [key, value] of writes) {
      assertKey(key);
      encoded.push(value === undefined ? removalOf(key) : yield* this.#encodeOne(value, key));
      if (encoded.length % ENTRIES_PER_PAUSE === 0) yield;
    }
    return encoded;
  }

  *#encodeOne(value: Value, key: Key): Generator<void, EncodedWrite> {
    try {
      return this.#withChecksum(this.#encoder.encodeAtOnce(value, key, false));
    } catch (error) {
      if (error !== TOO_LARGE) throw error;
    }
    yield;
    const record = yield* this.#encoder.encodeInSteps(value, key);
    yield* this.#check.writeChecksumInSteps(record, key);
    return record;
  }

  #withChecksum(record: LentBytes): LentBytes {
    this.#check.writeChecksum(record.chunk, record.start, record.size, record.key);
    return record;
  }
}

/** Has the shape of LentBytes, so that the loops over all writes stay monomorphic. */
function removalOf(key: Key): Removal {
  return { key, keySize: key.length, chunk: undefined, start: 0, size: 0, place: "shared" };
}

function assertKey(key: Key): void {
  assert(key.length > 0 && key.length <= KEY_SIZE_MAX, "a key of 1 to KEY_SIZE_MAX bytes");
  let bits = 0;
  for (let i = 0; i < key.length; i++) bits |= key.charCodeAt(i);
  assert(bits <= 0xff, "a key whose characters are bytes");
}
