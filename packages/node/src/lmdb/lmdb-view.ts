/**
 * LmdbView: one state of an LMDB storage: a read transaction, shared with a reference count.
 */

import type { Key, KeyEntry, KeyRange } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import { ChecksummedPiece, type ChecksummedRecords } from "./checksummed-piece.ts";
import { EntryIterator, KeyIterator } from "./entry-iterator.ts";
import {
  beginRead,
  type Environment,
  type ShapeDatabase,
  type Transaction,
  type ValueDatabase,
} from "./lmdb-environment.ts";
import type { RecordReader } from "./record-reader.ts";
import type { TreeView } from "./tree-view.ts";

export class LmdbView implements TreeView {
  readonly #values: ValueDatabase;
  readonly #reader: RecordReader;
  readonly #shapes: ShapeDatabase;
  readonly #options: { readonly transaction: Transaction };
  #referenceCount = 1;

  constructor({ root, values, shapes }: Environment, reader: RecordReader) {
    this.#values = values;
    this.#shapes = shapes;
    this.#reader = reader;
    this.#options = { transaction: beginRead(root) };
  }

  get state(): object {
    return this;
  }

  share(): this {
    this.#referenceCount++;
    return this;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const bytes = this.#values.get(key, this.#options);
    if (bytes === undefined) return undefined;
    return this.#reader.read(bytes, key, this.#reader.fieldSet(fields));
  }

  *getInSteps(key: Key): Generator<void, Value | undefined, void> {
    const bytes = this.#values.get(key, this.#options);
    if (bytes === undefined) return undefined;
    return yield* this.#reader.readInSteps(bytes, key);
  }

  has(key: Key): boolean {
    return this.#values.doesExist(key, undefined, this.#options);
  }

  entries(range: KeyRange, fields?: readonly string[]): Iterator<KeyEntry> {
    const source = this.#iterate(range, (options) => this.#values.getRange(options));
    const wanted = this.#reader.fieldSet(fields);
    return new EntryIterator(source, this.#reader, { range, wanted });
  }

  recordBeside(key: Key): Uint8Array | undefined {
    return this.#shapes.get(key, this.#options);
  }

  withoutChecksum(from: Key): ChecksummedRecords {
    const piece = new ChecksummedPiece();
    const source = this.#iterate({ from, to: "\xff" }, (options) => this.#values.getRange(options));
    try {
      for (let step = source.next(); step.done !== true; step = source.next()) {
        const { key, value } = step.value;
        if (piece.isFull) return piece.cutAt(key);
        piece.add(key, value as Uint8Array, () =>
          this.#reader.read(value as Uint8Array, key, undefined),
        );
      }
    } finally {
      source.return?.();
    }
    return piece.cutAt(undefined);
  }

  keys(range: KeyRange): Iterator<Key> {
    const source = this.#iterate(range, (options) => this.#values.getKeys(options));
    return new KeyIterator(source, range);
  }

  release(): void {
    this.#referenceCount--;
    if (this.#referenceCount === 0) this.#options.transaction.done();
  }

  #iterate<T>(range: KeyRange, read: (options: RangeOptions) => Iterable<T>): Iterator<T> {
    const { from, to, reverse } = range;
    if (to <= from) return [][Symbol.iterator]();
    const { transaction } = this.#options;
    // lmdb goes from start to end in the direction of the walk.
    const options =
      reverse === true
        ? { transaction, start: to, end: from, reverse, exclusiveStart: true, inclusiveEnd: true }
        : { transaction, start: from, end: to };
    return read(options)[Symbol.iterator]();
  }
}

/** The options of lmdb's own type that are used here. */
interface RangeOptions {
  readonly transaction: Transaction;
  readonly start: Key;
  readonly end: Key;
  readonly reverse?: boolean;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
}
