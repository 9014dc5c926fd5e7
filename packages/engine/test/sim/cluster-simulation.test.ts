/**
 * The simulator of a cluster over a few seeds, and that a seed is a whole description of a run.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { simulateCluster } from "./cluster-simulation.ts";

const SEEDS = sized(2, 15);

test("[S1–S46] three nodes over one log are to their peers as one machine, by seed", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const report = await simulateCluster(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  for (const name of ["local write", "direct write", "server crash", "cut of a node", "lag"]) {
    expect(counts.get(name), name).toBeGreaterThan(SEEDS);
  }
  for (const name of ["depose", "hand-over", "lost leader", "lost disk", "broken tails", "trim"]) {
    expect(counts.get(name), name).toBeGreaterThan(0);
  }
}, 60_000);

test.runIf(isFullSize)("the same seed gives the same run of a cluster", async () => {
  const play = (seed: number) => simulateCluster(seed, { length: 60 });
  const [first, second] = [await play(4242), await play(4242)];
  expect(second).toEqual(first);
  expect((await play(4243)).fingerprint).not.toBe(first.fingerprint);
});
