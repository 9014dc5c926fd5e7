import { canonicalBytes, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { encodeState } from "../../src/crdt/state-codec.ts";
import {
  approximateSize,
  documentRecord,
  readMetaRecord,
  recordSizeInSteps,
  shownOfRecord,
  type TransactionRecord,
} from "../../src/store/records.ts";
import { openStore } from "../support/open-store.ts";

test("[K13] a document written once has at most 32 bytes of metadata, whatever its size", async () => {
  const { store } = await openStore();
  const deep = { a: { b: { c: [1, 2, { d: "e" }] } }, list: Array.from({ length: 100 }, String) };
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: "x", fields: deep }]),
  );
  const { state } = store.read((snapshot) => snapshot.state("c", "x"));
  const largestVersion = Number.MAX_SAFE_INTEGER;
  expect(encodeState(state, largestVersion).meta.length).toBeLessThanOrEqual(32);
  expect(encodeState(state, 1).meta).toHaveLength(17);
});

test("[K14] a record has only fields unless a type has to be marked", () => {
  const fields = { a: 1 };
  expect(documentRecord({ fields, types: undefined })).toBe(fields);
  const marked = { fields, types: { a: "counter" } } as const;
  expect(documentRecord(marked)).toEqual([fields, { a: "counter" }]);
  for (const shown of [{ fields, types: undefined }, marked]) {
    expect(shownOfRecord(documentRecord(shown))).toEqual(shown);
  }
});

test("a metadata record decodes to its version and bytes", () => {
  const versions = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(versions, (version) => {
      const { meta } = encodeState(EMPTY_STATE);
      const record = encodeState(EMPTY_STATE, version).meta;
      const { version: found, bytes, offset } = readMetaRecord(record);
      expect([found, bytes.subarray(offset)]).toEqual([version, meta]);
    }),
  );
});

test("the approximate size of a value is close to the size of its bytes", () => {
  const values: Value[] = [
    { name: "owner", list: [1, 2, 3], nested: { text: "x".repeat(500) } },
    Array.from({ length: 200 }, (_, i) => ({ id: `document ${i}`, n: i * 1000 })),
    new Uint8Array(4096),
  ];
  for (const value of values) {
    const exact = canonicalBytes(value).length;
    expect(approximateSize(value)).toBeGreaterThan(exact * 0.5);
    expect(approximateSize(value)).toBeLessThan(exact * 2);
  }
});

test("[K32] the size of a log record is the same in steps, with a pause every few kilobytes", () => {
  const fields = { name: "x".repeat(100) };
  const ids = Array.from({ length: 5000 }, (_, i) => `id ${i}`);
  const record: TransactionRecord = {
    at: 1,
    requestId: "r",
    steps: [
      { time: 2, operations: ids.map((id) => ({ kind: "insert", collection: "c", id, fields })) },
      { time: 3, site: "0123456789abcdef", operations: [] },
    ],
    changes: ids.map((_, i) => [i, i, i % 2 === 0 ? null : { fields, added: ["b"] }]),
    guards: ids.map((id) => ["c", id, 7]),
    size: 0,
  };
  for (const each of [record, { at: 1, steps: [], changes: [], size: 0 }]) {
    const steps = recordSizeInSteps(each);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    expect(step.value).toBe(approximateSize(each));
    expect(pauses).toBeGreaterThanOrEqual(Math.floor(step.value / 8192));
  }
});
