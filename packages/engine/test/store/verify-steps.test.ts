import type { Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Key, KeyEntry, KeyRange, Reader } from "../../src/platform.ts";
import { verify } from "../../src/store/verify.ts";
import { openStore } from "../support/open-store.ts";

/** Counts how often a transaction of the log is read, and how often one of its steps is looked into. */
class CountingReader implements Reader {
  readonly reads = new Map<Key, number>();
  stepsSeen = 0;
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  get(key: Key, fields?: readonly string[]): Value | undefined {
    const value = this.#reader.get(key, fields);
    return value === undefined ? undefined : this.#counted(key, value);
  }

  has(key: Key): boolean {
    return this.#reader.has(key);
  }

  *entries(range: KeyRange, fields?: readonly string[]): Iterable<KeyEntry> {
    for (const { key, value } of this.#reader.entries(range, fields)) {
      yield { key, value: this.#counted(key, value) };
    }
  }

  keys(range: KeyRange): Iterable<Key> {
    return this.#reader.keys(range);
  }

  #counted(key: Key, value: Value): Value {
    if (!key.startsWith("t")) return value;
    this.reads.set(key, (this.reads.get(key) ?? 0) + 1);
    const record = value as { readonly steps: readonly { readonly operations: Value }[] };
    const steps = record.steps.map((step) =>
      Object.defineProperty({ ...step }, "operations", {
        enumerable: true,
        get: () => {
          this.stepsSeen++;
          return step.operations;
        },
      }),
    );
    return { ...(value as ValueObject), steps };
  }
}

test.each([100, 400])(
  "[K30] verify reads each log entry once, and each of its %d steps a few times",
  async (count) => {
    const { store, storage } = await openStore();
    await store.transact((transaction) => {
      for (let id = 0; id < count; id++) {
        transaction.apply([{ kind: "insert", collection: "c", id, fields: { n: id } }]);
      }
    });
    const snapshot = storage.snapshot();
    const reader = new CountingReader(snapshot);
    const report = verify(reader);
    expect(report.problems).toEqual([]);
    expect(report.documents).toBe(count);
    expect([...reader.reads.values()]).toEqual([1]);
    expect(reader.stepsSeen).toBeLessThanOrEqual(4 * count);
    snapshot.close();
  },
);
