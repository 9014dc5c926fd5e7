/**
 * The simulator of a cluster over many seeds: nothing breaks, and what was broken on purpose is found.
 */

import { expect, test } from "vitest";
import { simulateCluster } from "./cluster-simulation.ts";
import { BASE_SEED, firstSeed } from "./first-seed.ts";
import { PLANTED_CLUSTER_BUGS } from "./planted-cluster-bug.ts";

test("[S1–S46] 60 seeds: three nodes over one log are to their peers as one machine", async () => {
  let steps = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 60; seed++) {
    steps += (await simulateCluster(seed)).steps;
  }
  expect(steps).toBeGreaterThan(200_000);
}, 600_000);

test.each(PLANTED_CLUSTER_BUGS)(
  "a planted bug of a cluster is found within 100 seeds: $name",
  async ({ plant, shows }) => {
    const mend = plant();
    try {
      const found = await firstSeed(100, simulateCluster);
      expect(found?.invariant).toSatisfy((invariant: string) => shows.includes(invariant));
    } finally {
      mend();
    }
  },
  300_000,
);
