/**
 * The simulator with attachments over many seeds: nothing breaks, and what was broken on purpose is
 * found.
 */

import { expect, test } from "vitest";
import { simulateAttachments } from "./attachment-simulation.ts";
import { BASE_SEED, firstSeed } from "./first-seed.ts";
import { PLANTED_CONTENT_BUGS } from "./planted-content-bug.ts";

test("[S90] 300 seeds: contents are uploaded before their documents, and arrive whole", async () => {
  const counts = new Map<string, number>();
  for (let seed = BASE_SEED; seed < BASE_SEED + 300; seed++) {
    const report = await simulateAttachments(seed);
    for (const [name, count] of report.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  expect(counts.get("content fetched")).toBeGreaterThan(300);
  expect(counts.get("content lost by the server")).toBeGreaterThan(0);
}, 1_200_000);

test.each(PLANTED_CONTENT_BUGS)(
  "a planted bug is found within 200 seeds: $name",
  async ({ plant, shows }) => {
    const mend = plant();
    try {
      const found = await firstSeed(200, simulateAttachments);
      expect(found?.invariant).toSatisfy((invariant: string) => shows.includes(invariant));
    } finally {
      mend();
    }
  },
  600_000,
);
