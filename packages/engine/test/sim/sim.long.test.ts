/**
 * The simulator over many seeds: nothing breaks, and what was broken on purpose is found.
 */

import { expect, test } from "vitest";
import { BASE_SEED, firstSeed } from "./first-seed.ts";
import { PLANTED_BUGS } from "./planted-bug.ts";
import { simulate } from "./simulation.ts";

test("[S1–S46] 300 seeds: all stores end equal, whatever happens on the way", async () => {
  let steps = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 300; seed++) steps += (await simulate(seed)).steps;
  expect(steps).toBeGreaterThan(150_000);
}, 1_200_000);

test.each(PLANTED_BUGS)(
  "a planted bug is found within 500 seeds: $name",
  async ({ plant, shows }) => {
    const mend = plant();
    try {
      const found = await firstSeed(500, simulate);
      expect(found?.invariant).toSatisfy((invariant: string) => shows.includes(invariant));
    } finally {
      mend();
    }
  },
  600_000,
);
