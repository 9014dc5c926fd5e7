/**
 * Sizes of documents: what counts, what is warned of, what is refused.
 */

import { canonicalBytes, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { DOCUMENT_SIZE_MAX, DOCUMENT_SIZE_SOFT_MAX } from "../../../src/limits.ts";
import { encodedSize } from "../../../src/query/mutate/document-size.ts";
import { MutationDesk } from "../../support/mutation.ts";

const text = (size: number): string => "x".repeat(size);

test("the size is that of the canonical bytes", () => {
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

test("a float counts as the longest one", () => {
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

test("an insert above the hard limit is refused whole", async () => {
  const desk = await MutationDesk.open();
  const refused = desk.insert([{ _id: "1" }, { _id: "2", t: text(DOCUMENT_SIZE_MAX) }]);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation" });
  await expect(refused).rejects.toThrow(
    `the document "2" is too large: its size is ${DOCUMENT_SIZE_MAX + 10} bytes and exceeds limit of 5242880 bytes`,
  );
  expect(desk.ids()).toEqual([]);
});

test("an update is judged by the document that it leaves", async () => {
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

test("what is large and is made small needs no warning", async () => {
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

test("a document that is above the limit already may be made smaller", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: text(3000), b: text(3000) });
  desk.settings.set("document_size_hard_limit_bytes", 2048);
  await expect(desk.update({ set: [["c", 1]] })).rejects.toThrow("exceeds limit of 2048 bytes");
  await desk.update({ unset: ["a"], set: [["c", 1]] });
  expect(Object.keys(desk.read("1") as object).sort()).toEqual(["b", "c"]);
});
