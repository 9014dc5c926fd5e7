import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { crashRun } from "./crash-run.ts";

const SEEDS = histories(60);

test("[K6] [K21] [K23] [K24] nothing acknowledged is lost, nothing is half applied, no txnId comes twice", async () => {
  const totals = { acknowledged: 0, failed: 0, lost: 0 };
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = await crashRun(seed, 8);
    totals.acknowledged += run.acknowledged;
    totals.failed += run.failed;
    totals.lost += run.lost;
  }
  // Not vacuous: requests were answered, failed, and vanished with the power.
  expect(Math.min(totals.acknowledged, totals.failed, totals.lost)).toBeGreaterThan(
    (100 * SEEDS) / 60,
  );
});
