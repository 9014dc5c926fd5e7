/**
 * The key of a value: the same for equal values alone.
 */
import { expect, test } from "vitest";
import { isSameValue, valueKey } from "../../src/react/value-key.ts";

const DIFFERENT: readonly unknown[] = [
  undefined,
  null,
  0,
  1,
  1n,
  "1",
  "bigint 1",
  Number.NaN,
  true,
  [],
  [1],
  ["a"],
  {},
  { a: 1 },
  { a: 1n },
  { a: { b: 1 } },
  { b: 1 },
  { 0: 1 },
  Uint8Array.of(1),
  { a: Uint8Array.of(1) },
  { a: [1] },
];

test("different values have different keys, and are not the same", () => {
  const keys = DIFFERENT.map((value) => valueKey([value, 0]));
  // In a list, JSON has null for undefined; the arguments of a query are an object or left out.
  expect(new Set(keys).size).toBe(DIFFERENT.length - 1);
  for (const [i, a] of DIFFERENT.entries()) {
    for (const [j, b] of DIFFERENT.entries()) {
      expect(isSameValue(a, structuredClone(b)), `${i} and ${j}`).toBe(i === j);
    }
  }
});

test("the order of fields and undefined fields make no difference to a key", () => {
  const key = valueKey({ a: 1, b: { c: 2, d: 3 } });
  expect(valueKey({ b: { d: 3, c: 2 }, a: 1, e: undefined })).toBe(key);
  expect(isSameValue({ a: 1, b: [2] }, { b: [2], a: 1 })).toBe(true);
});
