import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import { journalCrashRun } from "../support/journal-crash-run.ts";

const SEEDS = sized(20, 80);

test("[K6] [K79] [K83] a journal that crashes at any point keeps every acknowledged commit, and none by half", async () => {
  const totals = { acknowledged: 0, failed: 0, kept: 0, lost: 0, recycle: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = await journalCrashRun(seed, 8);
    totals.acknowledged += run.acknowledged;
    totals.failed += run.failed;
    totals.kept += run.kept;
    totals.lost += run.lost;
    totals.recycle += run.tasks.recycle;
  }
  // Not vacuous: commits failed, were under way and kept or lost, and segments were used again.
  expect(Math.min(...Object.values(totals))).toBeGreaterThan(SEEDS / 4);
});
