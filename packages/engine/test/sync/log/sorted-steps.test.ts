import { expect, test } from "vitest";
import { finish } from "../../../src/query/frame/steps.ts";
import { sortedInSteps } from "../../../src/sync/log/sorted-steps.ts";
import { Random } from "../../support/random.ts";

interface Item {
  readonly key: number;
  readonly place: number;
}

function compare(a: Item, b: Item): number {
  return a.key - b.key;
}

test.each([0, 1, 1024, 1025, 2048, 5000, 70_000])(
  "%i elements are in the order of sort",
  (count) => {
    const random = new Random(count);
    const items = Array.from({ length: count }, (_, place) => ({
      key: random.below(Math.ceil(count / 3) + 1),
      place,
    }));
    expect(finish(sortedInSteps(items, compare))).toEqual(items.toSorted(compare));
  },
);

test("no more than about a thousand elements are compared between two pauses", () => {
  const items = Array.from({ length: 100_000 }, (_, place) => ({ key: -place, place }));
  let compared = 0;
  let most = 0;
  const steps = sortedInSteps(items, (a: Item, b: Item) => {
    most = Math.max(most, ++compared);
    return compare(a, b);
  });
  while (steps.next().done !== true) compared = 0;
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(1024 * 11);
});
