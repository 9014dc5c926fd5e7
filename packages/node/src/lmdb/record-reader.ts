/**
 * RecordReader: verifies the checksum of records that LMDB lends, then decodes their values.
 *
 * Every read of a storage goes through it, so a damaged record fails and is never returned.
 */

import type { Key } from "@bigpeer/engine";
import { printKey } from "@bigpeer/engine/store";
import type { Value } from "@bigpeer/protocol";
import type { RecordCheck } from "./record-check.ts";
import type { FieldSet, ValueDecoder } from "./value-decoder.ts";

export class RecordReader {
  readonly #decoder: ValueDecoder;
  readonly #check: RecordCheck;

  constructor(decoder: ValueDecoder, check: RecordCheck) {
    this.#decoder = decoder;
    this.#check = check;
  }

  fieldSet(fields: readonly string[] | undefined): FieldSet | undefined {
    return fields && this.#decoder.fieldSet(fields);
  }

  /** `bytes` are lent: their length is that of the record. Throws when it is damaged. */
  read(bytes: Uint8Array, key: Key, wanted: FieldSet | undefined): Value {
    const size = bytes.length;
    try {
      const start = this.#check.valueStart(bytes, size, key);
      return wanted === undefined
        ? this.#decoder.decode(bytes, size, start)
        : this.#decoder.decodePart(bytes, size, wanted, start);
    } catch (cause) {
      throw unreadable(key, cause);
    }
  }

  /** As read, of the whole value, with pauses where it is large. */
  *readInSteps(bytes: Uint8Array, key: Key): Generator<void, Value, void> {
    const size = bytes.length;
    try {
      const start = this.#check.valueStart(bytes, size, key);
      return yield* this.#decoder.decodeInSteps(bytes, size, start);
    } catch (cause) {
      throw unreadable(key, cause);
    }
  }
}

function unreadable(key: Key, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`${reason}, at ${printKey(key)}`, { cause });
}
