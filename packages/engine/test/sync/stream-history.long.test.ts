/**
 * Many random histories of streams against a second opinion: see support/stream-history.ts.
 */

import { expect, test } from "vitest";
import { runHistories } from "../support/stream-history.ts";

const SEEDS = 400;

test("[S11] to [S23] a subscriber holds exactly the matching readable documents, in many histories", async () => {
  const { whole } = await runHistories(1000, SEEDS);
  expect(whole).toBeGreaterThan(50 * SEEDS);
}, 1_800_000);

test("[S57] a subscriber whose fill is cut ends with exactly the matching documents, in many histories", async () => {
  const { goneOn } = await runHistories(1000, SEEDS, { isForgetful: true });
  expect(goneOn).toBeGreaterThan(SEEDS);
}, 1_800_000);
