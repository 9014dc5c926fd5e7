/**
 * The simulator with peers on a simulated IndexedDB, over a few seeds.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { simulateIndexed } from "./indexed-simulation.ts";

const SEEDS = sized(2, 10);

test("[K89] [S1–S46] all stores end equal, with the storage of browsers on the peers", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const report = await simulateIndexed(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  expect(counts.get("local write")).toBeGreaterThan(SEEDS);
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  for (const name of ["relaxed commit lost", "commit aborted", "commit beyond the quota"]) {
    expect(counts.get(name) ?? 0, name).toBeGreaterThan(SEEDS / 2);
  }
});

test.runIf(isFullSize)("the same seed gives the same run", async () => {
  const [first, second] = [await simulateIndexed(4242), await simulateIndexed(4242)];
  expect(second).toEqual(first);
});
