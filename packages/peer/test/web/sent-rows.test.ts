/**
 * Rows as messages: what a page gets is what the peer has, in parts of a bounded size.
 */

import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import type { PlainValue } from "../../src/plain-value.ts";
import { partsOf, rowsFrom, type SentRows } from "../../src/web/sent-rows.ts";

/** The rows as a page gets them: a message is a clone. */
function received(rows: readonly Value[]): { parts: SentRows[]; items: PlainValue[] } {
  const parts = [...partsOf(rows)].map((part) => structuredClone(part));
  return { parts, items: parts.flatMap(rowsFrom) };
}

const scalar = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.bigInt({ min: 2n ** 60n, max: 2n ** 63n }),
  fc.uint8Array({ maxLength: 8 }),
);
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 4 }), tie("value"), { maxKeys: 4 }),
  ),
}));

test("a page gets all rows in their order, whatever values they have", () => {
  const seen = { text: 0, objects: 0 };
  fc.assert(
    fc.property(fc.array(value, { maxLength: 40 }), (rows) => {
      const { parts, items } = received(rows);
      expect(items).toEqual(rows);
      for (const part of parts) seen[typeof part === "string" ? "text" : "objects"]++;
    }),
    { numRuns: histories(300) },
  );
  expect(Math.min(seen.text, seen.objects)).toBeGreaterThan(0);
});

test("a large result has parts of about 256 KB, and small ones have one", () => {
  const row = { _id: "an id", text: "x".repeat(500) };
  const { parts, items } = received(Array.from({ length: 5_000 }, () => row));
  expect(items).toHaveLength(5_000);
  const sizes = parts.map((part) => part.length);
  expect(sizes.length).toBeGreaterThan(9);
  expect(Math.max(...sizes)).toBeLessThan(300_000);
  expect(received([]).parts).toEqual(["[]"]);
  expect(received([row, row]).parts).toHaveLength(1);
});

test("large rows are parts of their own", () => {
  const row = { text: "x".repeat(300_000) };
  const { parts, items } = received(Array.from({ length: 40 }, () => row));
  expect(items).toHaveLength(40);
  expect(parts.slice(1).every((part) => (part as string).length < 310_000)).toBe(true);
});

test("a page may change what it gets: nothing in it is shared", () => {
  const shared = { tags: ["a"] };
  for (const more of [{}, { bytes: new Uint8Array(2) }]) {
    const row = { first: shared, second: shared, ...more };
    const { items } = received([row, row]);
    const [one, two] = items as { first: typeof shared; second: typeof shared }[];
    one?.first.tags.push("b");
    expect([one?.second, two?.first, two?.second]).toEqual([shared, shared, shared]);
  }
});

test("fields that have a meaning in JavaScript are fields", () => {
  const row = JSON.parse('{"__proto__": {"a": 1}, "toJSON": 2, "constructor": null, "1023": 3}');
  for (const rows of [[row], [row, { bytes: new Uint8Array(1) }]]) {
    const { items } = received(rows);
    expect(Object.entries(items[0] as object)).toEqual(Object.entries(row));
  }
});
