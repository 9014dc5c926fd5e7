/**
 * Random histories of streams against a second opinion: see support/stream-history.ts.
 */

import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { runHistories } from "../support/stream-history.ts";

const SEEDS = sized(4, 25);

test("[S11] to [S23] a subscriber always holds exactly the matching readable documents, and learns no others", async () => {
  const { entries, modes, falls, whole } = await runHistories(1, SEEDS);
  // Few seeds need not meet everything.
  if (!isFullSize) return;
  // All that there is was met, so that the silence above means something.
  expect(Object.keys(entries).toSorted()).toEqual(["deleted", "delta", "drop", "left", "put"]);
  expect(Object.keys(modes).toSorted()).toEqual(["compare", "fill", "resume"]);
  expect(falls).toBeGreaterThan(SEEDS / 2);
  expect(whole).toBeGreaterThan(50 * SEEDS);
});

test("[S13] [S18] a document that an earlier comparison wanted and that matches since is left to the catch-up", async () => {
  const { whole } = await runHistories(1593, 1);
  expect(whole).toBeGreaterThan(0);
});

test("[S57] a subscriber whose fill is cut repeatedly ends with the matching documents, and learns no others", async () => {
  const { goneOn, entries } = await runHistories(1, SEEDS, { isForgetful: true });
  if (!isFullSize) return;
  expect(goneOn).toBeGreaterThan(2 * SEEDS);
  expect(Object.keys(entries).toSorted()).toEqual(["deleted", "delta", "drop", "left", "put"]);
});
