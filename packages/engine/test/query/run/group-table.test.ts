/**
 * GroupTable beside equalData: what is found is what was added for equal keys.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { GroupTable, sizeInTable } from "../../../src/query/run/group-table.ts";
import { equalData } from "../../../src/query/value/compare.ts";
import { type Datum, Float } from "../../../src/query/value/datum.ts";

/** Few of them, many of which look alike. */
const ALIKE: readonly Datum[] = [
  undefined,
  null,
  true,
  0,
  -0,
  new Float(0),
  1,
  new Float(1),
  1n,
  "1",
  "n1",
  "s1",
  "",
  "n",
];
const SPECIAL: readonly Datum[] = [
  2 ** 53,
  2n ** 53n,
  new Float(2 ** 53),
  1e300,
  Number.NaN,
  Infinity,
  0.5,
  [1],
  ["1"],
  {},
];
const key = fc.constantFrom(...ALIKE, ...SPECIAL);

test("two lists of keys are in one group exactly when all keys are equal", () => {
  const keysOf = fc
    .integer({ min: 0, max: 3 })
    .chain((length) => fc.array(fc.array(key, { minLength: length, maxLength: length })));
  fc.assert(
    fc.property(keysOf, (lists) => {
      const table = new GroupTable<{ readonly keys: readonly Datum[] }>();
      const expected: Datum[][] = [];
      for (const keys of lists) {
        const isEqual = (known: readonly Datum[]): boolean =>
          known.every((each, i) => equalData(each, keys[i]));
        const known = expected.find(isEqual);
        expect(table.find(keys)?.keys).toBe(known);
        if (known !== undefined) continue;
        expected.push(keys);
        table.add(keys, { keys });
      }
      expect(table.all.map(({ keys }) => keys)).toEqual(expected);
    }),
  );
});

test("a longer key takes more memory", () => {
  expect(sizeInTable(["x".repeat(100)])).toBe(200);
  expect(sizeInTable([["x".repeat(100)]])).toBeGreaterThan(200);
  expect(sizeInTable(["x".repeat(100), 1])).toBeGreaterThan(200);
  expect(sizeInTable([1])).toBeGreaterThan(0);
});
