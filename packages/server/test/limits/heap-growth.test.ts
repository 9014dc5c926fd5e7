import { expect, test } from "vitest";
import { HeapGrowth, LARGE_HEAP_BYTES } from "../../src/limits/heap-growth.ts";

/** The percents that are set while the heap is as large as `sizes`, one after the other. */
function percentsFor(sizes: readonly number[]): number[] {
  const percents: number[] = [];
  let usedBytes = 0;
  const growth = new HeapGrowth({
    usedBytes: () => usedBytes,
    setGrowingPercent: (percent) => percents.push(percent),
  });
  for (const size of sizes) {
    usedBytes = size * LARGE_HEAP_BYTES;
    growth.look();
  }
  return percents;
}

test("a large heap may grow by less than a third before a garbage collection", () => {
  expect(percentsFor([0.5, 1, 1.1, 3, 1.1])).toEqual([30]);
});

test("a heap that is small again grows as V8 decides", () => {
  expect(percentsFor([2, 0.9, 0.8, 0.7, 0.9, 1.1])).toEqual([30, 0, 30]);
});
