/**
 * Members of IN: a table tells what looking through the list tells, where it tells anything.
 */

import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { equalComparable } from "../../../src/query/value/compare.ts";
import { membersOf, tableOf } from "../../../src/query/value/members.ts";

const anyMember = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<Value>(0, -0, 1, 2, 2.5, null) },
  { weight: 1, arbitrary: fc.constantFrom<Value>("a", "1", true, 2n ** 60n, [1]) },
);
const anyList = fc.oneof(
  fc.array(anyMember, { maxLength: 20 }),
  fc.array(fc.constantFrom<Value>(0, 1, 2, 2.5, null), { minLength: 8, maxLength: 20 }),
  fc.array(fc.constantFrom<Value>("a", "b", "", "é"), { minLength: 8, maxLength: 20 }),
);

/** True, false, or null where a null leaves it open; undefined where types differ. */
function lookThrough(value: Value, list: readonly Value[]): boolean | null | undefined {
  const answers = list.map((member) => equalComparable(value, member));
  if (answers.includes(undefined)) return undefined;
  if (answers.includes(true)) return true;
  return answers.includes(null) ? null : false;
}

test("a lookup table agrees with the list", () => {
  let reported = 0;
  fc.assert(
    fc.property(anyList, anyMember, (list, value) => {
      let bytes = 0;
      const { values, find } = membersOf(list, (taken) => {
        bytes += taken;
      });
      expect(values).toEqual(list);
      const found = find?.(value);
      if (found === undefined) return;
      reported++;
      expect(found).toBe(lookThrough(value, list));
      expect(bytes).toBeGreaterThan(0);
    }),
    { numRuns: runs(500) },
  );
  expect(reported).toBeGreaterThan(runs(500) / 10);
});

test("a short list, or one of several types, has no table", () => {
  const take = (): void => undefined;
  expect(membersOf([1, 2, 3], take).find).toBeUndefined();
  expect(membersOf([1, 2, 3, 4, 5, 6, 7, "8"], take).find).toBeUndefined();
  expect(membersOf([1, 2, 3, 4, 5, 6, 7, Number.NaN], take).find).toBeUndefined();
  expect(membersOf(Array(9).fill(null), take).find).toBeUndefined();
});

test("a list that recurs in a run has a lookup table; one that occurs once, or in the next run, has none", () => {
  const budget = { take: (): void => undefined };
  const run = { budget };
  const list = Array.from({ length: 20 }, (_, i) => `store-${i}`);
  expect(tableOf(run, list)).toBeUndefined();
  const found = ["store-3", "store-20"].map((value) => tableOf(run, list)?.find?.(value));
  expect(found).toEqual([true, false]);
  expect(tableOf(run, [...list])).toBeUndefined();
  expect(tableOf({ budget }, list)).toBeUndefined();
});
