/**
 * Aggregates beside sums of bigints: exact, however large the sums become on the way.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Run } from "../../../src/query/frame/frame.ts";
import { startAggregate } from "../../../src/query/functions/aggregate.ts";

const integer = fc.oneof(fc.maxSafeInteger(), fc.bigInt(2n ** 53n, 2n ** 64n - 1n));

test("an average of integers is computed from their exact sum", () => {
  fc.assert(
    fc.property(fc.array(integer, { minLength: 1 }), (integers) => {
      const average = startAggregate("avg", false, {} as Run);
      for (const each of integers) average.add(each);
      const sum = integers.reduce<bigint>((total, each) => total + BigInt(each), 0n);
      expect(Number(average.result())).toBe(Number(sum) / integers.length);
    }),
  );
});
