/**
 * Random histories of streams against a second opinion: see support/stream-history.ts.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { runHistories } from "../support/stream-history.ts";

const SEEDS = sized(4, 25);

test("[S11] to [S23] whoever follows holds exactly what matches and may be read, at each transaction that it is told, and hears of nothing else", async () => {
  const { entries, modes, falls, whole } = await runHistories(1, SEEDS);
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  // All that there is was met, so that the silence above means something.
  expect(Object.keys(entries).toSorted()).toEqual(["deleted", "delta", "drop", "left", "put"]);
  expect(Object.keys(modes).toSorted()).toEqual(["compare", "fill", "resume"]);
  expect(falls).toBeGreaterThan(SEEDS / 2);
  expect(whole).toBeGreaterThan(50 * SEEDS);
}, 120_000);

test("[S13] [S18] what a former comparison wanted and came to match since is left to the catch-up", async () => {
  const { whole } = await runHistories(1593, 1);
  expect(whole).toBeGreaterThan(0);
});

test("[S57] whoever has its fill cut again and again ends with exactly what matches, and hears of nothing else", async () => {
  const { goneOn, entries } = await runHistories(1, SEEDS, { isForgetful: true });
  if (!isFullSize) return;
  expect(goneOn).toBeGreaterThan(2 * SEEDS);
  expect(Object.keys(entries).toSorted()).toEqual(["deleted", "delta", "drop", "left", "put"]);
}, 120_000);
