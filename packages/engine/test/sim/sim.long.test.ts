/**
 * The simulator over many seeds: nothing breaks, and what was broken on purpose is found.
 */

import { expect, test } from "vitest";
import { simulateLinks } from "./link-simulation.ts";
import { PLANTED_BUGS } from "./planted-bug.ts";
import { PLANTED_LINK_BUGS } from "./planted-link-bug.ts";
import { SimRunError, simulate } from "./simulation.ts";

const BASE_SEED = Number(process.env["SIM_SEED"] ?? 10_000);

test("[S1–S46] 1,000 seeds: everyone ends equal, whatever happens on the way", async () => {
  let steps = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 1000; seed++) steps += (await simulate(seed)).steps;
  expect(steps).toBeGreaterThan(500_000);
}, 1_200_000);

test("[S47–S56] 300 seeds: linked sites end with all that they follow", async () => {
  let steps = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 300; seed++) {
    steps += (await simulateLinks(seed)).steps;
  }
  expect(steps).toBeGreaterThan(300_000);
}, 1_200_000);

/** The first seed that shows the bug. */
async function firstSeed(
  most: number,
  run: (seed: number) => Promise<unknown>,
): Promise<{ seed: number; invariant: string } | undefined> {
  for (let seed = BASE_SEED; seed < BASE_SEED + most; seed++) {
    try {
      await run(seed);
    } catch (error) {
      if (!(error instanceof SimRunError)) throw error;
      return { seed, invariant: error.failure.invariant };
    }
  }
  return undefined;
}

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

test.each(PLANTED_LINK_BUGS)(
  "a planted bug of links is found within 300 seeds: $name",
  async ({ plant, shows }) => {
    const mend = plant();
    try {
      const found = await firstSeed(300, simulateLinks);
      expect(found?.invariant).toSatisfy((invariant: string) => shows.includes(invariant));
    } finally {
      mend();
    }
  },
  600_000,
);
