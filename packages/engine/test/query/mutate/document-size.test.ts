/**
 * Sizes of documents: what counts, what is warned of, what is refused.
 */

import { canonicalBytes, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isFullSize } from "../../../../protocol/test/support/test-size.ts";
import {
  DOCUMENT_FIELDS_MAX,
  DOCUMENT_SIZE_MAX,
  DOCUMENT_SIZE_SOFT_MAX,
  DOCUMENT_STAMPS_MAX,
  DOCUMENT_VALUES_MAX,
} from "../../../src/limits.ts";
import {
  checkDocumentSize,
  encodedSize,
  sizeOfWrite,
} from "../../../src/query/mutate/document-size.ts";
import { Warnings } from "../../../src/query/run/warnings.ts";
import type { Steps } from "../../../src/steps.ts";
import { MutationDesk } from "../../support/mutation.ts";
import { openStore } from "../../support/open-store.ts";

const text = (size: number): string => "x".repeat(size);

test("the size is the length of the canonical bytes", () => {
  const scalar = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer(),
    fc.integer({ min: -300, max: 300 }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
  );
  const { value } = fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie("value")),
      fc.dictionary(fc.string(), tie("value")),
    ),
  }));
  fc.assert(fc.property(value, (some) => encodedSize(some) === canonicalBytes(some).length));
});

test("a float counts with its longest encoding", () => {
  expect(encodedSize(0.5)).toBe(9);
  expect(encodedSize(Number.NaN)).toBe(9);
  expect(encodedSize(0.1)).toBe(canonicalBytes(0.1).length);
});

test("an insert above the soft limit is written with a warning", async () => {
  const desk = await MutationDesk.open({ _id: "1", t: text(DOCUMENT_SIZE_SOFT_MAX - 100) });
  expect(desk.warnings.total).toBe(0);
  await desk.insert([{ _id: "2", t: text(DOCUMENT_SIZE_SOFT_MAX) }, { _id: "3" }]);
  expect(desk.warnings.list).toEqual([
    {
      _id: "2",
      description:
        "the document is large: its size is 262154 bytes and exceeds the soft limit of 262144 bytes",
    },
  ]);
  expect(desk.ids()).toEqual(["1", "2", "3"]);
});

test("an insert above the hard limit is refused as a whole", async () => {
  const desk = await MutationDesk.open();
  const refused = desk.insert([{ _id: "1" }, { _id: "2", t: text(DOCUMENT_SIZE_MAX) }]);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation" });
  await expect(refused).rejects.toThrow(
    `the document "2" is too large: its size is ${DOCUMENT_SIZE_MAX + 10} bytes and exceeds limit of 5242880 bytes`,
  );
  expect(desk.ids()).toEqual([]);
});

test("an update is checked by the size of the resulting document", async () => {
  const half = text(DOCUMENT_SIZE_MAX / 2);
  const desk = await MutationDesk.open({ _id: "1", a: half, b: half.slice(100) });
  const grown = desk.update({ set: [["o.c", half]] });
  await expect(grown).rejects.toThrow("exceeds limit of 5242880 bytes");
  const upsert = desk.insert([{ _id: "1", c: half }], { conflict: "update" });
  await expect(upsert).rejects.toThrow("exceeds limit of 5242880 bytes");
  expect(Object.keys(desk.read("1") as object)).toEqual(["a", "b"]);
  await desk.update({ set: [["a", half.slice(1)]] });
  expect(desk.warnings.total).toBe(1);
  await desk.update({ set: [["c", half]], unset: ["a"] });
  expect(Object.keys(desk.read("1") as object).sort()).toEqual(["b", "c"]);
});

test("an update that makes a large document small has no warning", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: text(DOCUMENT_SIZE_SOFT_MAX) });
  await desk.update({ set: [["a", 1]] });
  expect(desk.warnings.total).toBe(0);
  await desk.update({ apply: [["k", "increment", 1]] });
  expect(desk.warnings.total).toBe(0);
});

test("the limits are settings", async () => {
  const desk = await MutationDesk.open();
  desk.settings.set("document_size_soft_limit_bytes", 1024);
  desk.settings.set("document_size_hard_limit_bytes", 2048);
  await desk.insert([{ _id: "1", t: text(1024) }]);
  expect(desk.warnings.total).toBe(1);
  const refused = desk.insert([{ _id: "2", t: text(2048) }]);
  await expect(refused).rejects.toThrow("exceeds limit of 2048 bytes");
});

test("a document that is already above the limit may become smaller", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: text(3000), b: text(3000) });
  desk.settings.set("document_size_hard_limit_bytes", 2048);
  await expect(desk.update({ set: [["c", 1]] })).rejects.toThrow("exceeds limit of 2048 bytes");
  await desk.update({ unset: ["a"], set: [["c", 1]] });
  expect(Object.keys(desk.read("1") as object).sort()).toEqual(["b", "c"]);
});

function manyFields(count: number, name = "f"): { [field: string]: Value } {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, i]));
}

const TOO_MANY_FIELDS = `expected at most ${DOCUMENT_FIELDS_MAX} fields, found`;

test.runIf(isFullSize)(
  "the number of fields of a document is limited, fields of maps included",
  async () => {
    const desk = await MutationDesk.open();
    await desk.insert([{ _id: "1", ...manyFields(DOCUMENT_FIELDS_MAX) }]);
    const more = desk.update({ set: [["g", 1]] });
    await expect(more).rejects.toThrow(
      `the document "1" is too large: ${TOO_MANY_FIELDS} ${DOCUMENT_FIELDS_MAX + 1}`,
    );
    await desk.update({ set: [["f7", "other"]] });
    const nested = desk.insert([{ _id: "2", m: manyFields(DOCUMENT_FIELDS_MAX) }]);
    await expect(nested).rejects.toThrow(TOO_MANY_FIELDS);
    await desk.insert([{ _id: "3", m: manyFields(DOCUMENT_FIELDS_MAX / 2) }]);
    const upsert = desk.insert([{ _id: "3", n: manyFields(DOCUMENT_FIELDS_MAX / 2) }], {
      conflict: "update",
    });
    await expect(upsert).rejects.toThrow(TOO_MANY_FIELDS);
    await desk.insert([{ _id: "4", list: [manyFields(DOCUMENT_FIELDS_MAX)] }]);
    expect(desk.ids()).toEqual(["1", "3", "4"]);
  },
);

test.runIf(isFullSize)("the number of values of a document is limited, at any depth", async () => {
  const desk = await MutationDesk.open();
  const list = Array.from({ length: DOCUMENT_VALUES_MAX - 1 }, () => []);
  await desk.insert([{ _id: "1", list }]);
  const found = `expected at most ${DOCUMENT_VALUES_MAX} values, found`;
  await expect(desk.update({ set: [["g", 1]] })).rejects.toThrow(found);
  await expect(desk.insert([{ _id: "2", list: [[...list, []]] }])).rejects.toThrow(found);
  const pairs = Array.from({ length: DOCUMENT_VALUES_MAX / 2 }, () => ({ a: 1 }));
  await expect(desk.insert([{ _id: "3", pairs }])).rejects.toThrow(found);
  const numbers = Array.from({ length: DOCUMENT_VALUES_MAX * 10 }, () => 1);
  await expect(desk.insert([{ _id: "4", numbers }])).rejects.toThrow(found);
  await desk.insert([{ _id: "5", numbers: numbers.slice(10) }]);
  await desk.update({ unset: ["list", "numbers"], set: [["g", 1]] });
  expect(desk.read("1")).toEqual({ g: 1 });
});

test("a document that already has too many fields may be read, and become smaller", async () => {
  const desk = await MutationDesk.open();
  const fields = manyFields(DOCUMENT_FIELDS_MAX + 10);
  await desk.store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: "1", fields }]),
  );
  await expect(desk.update({ set: [["g", 1]] })).rejects.toThrow(TOO_MANY_FIELDS);
  await desk.update({ unset: ["f1", "f2"], set: [["g", 1]] });
  await desk.update({ set: [["f3", "other"]] });
  expect(Object.keys(desk.read("1") as object)).toHaveLength(DOCUMENT_FIELDS_MAX + 9);
});

test.runIf(isFullSize)("removed fields count until they are forgotten", async () => {
  const desk = await MutationDesk.open({ _id: "1" });
  const half = DOCUMENT_FIELDS_MAX / 2;
  for (const name of ["a", "b", "c"]) {
    await desk.update({ set: [["m", manyFields(half, name)]] });
    await desk.update({ unset: Object.keys(manyFields(half, name)).map((key) => `m.${key}`) });
  }
  const most = desk.update({ set: [["m", manyFields(half + 10, "d")]] });
  await expect(most).rejects.toThrow(`expected at most ${DOCUMENT_STAMPS_MAX} fields and counts`);
  await desk.update({ set: [["m", manyFields(10, "d")]] });
  await desk.update({ unset: ["m"] });
  await desk.update({ set: [["m", manyFields(half + 10, "d")]] });
});

function pauses(steps: Steps<unknown>): number {
  let count = 0;
  while (steps.next().done !== true) count++;
  return count;
}

test("[K34] a write to a large document pauses between its passes over it", async () => {
  const { store } = await openStore();
  const fields = manyFields(DOCUMENT_FIELDS_MAX);
  const limits = { soft: DOCUMENT_SIZE_SOFT_MAX, hard: DOCUMENT_SIZE_MAX };
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: "1", fields }]),
  );
  await store.transact((transaction) => {
    const before = transaction.get("c", "1");
    const edits = [{ kind: "set", path: ["f1"], value: "other" }] as const;
    const operation = { kind: "update", collection: "c", id: "1", edits } as const;
    const write = { operation, before };
    expect(pauses(transaction.applyInSteps([operation]))).toBe(0);
    const context = { transaction, warnings: new Warnings() };
    const check = checkDocumentSize(write, sizeOfWrite(write), limits, context);
    expect(pauses(check)).toBeGreaterThanOrEqual(7);
    expect(pauses(transaction.applyInSteps([operation]))).toBe(3);
  });
});
