import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { loggedCrashRun } from "../support/logged-crash-run.ts";

const SEEDS = sized(20, 80);

test.runIf(isFullSize)(
  "[K86] a storage that follows a log has exactly the state of its position after any crash",
  async () => {
    const totals: Record<string, number> = {};
    for (let seed = 1; seed <= SEEDS; seed++) {
      const run = await loggedCrashRun(seed, 8);
      for (const [name, count] of Object.entries(run)) totals[name] = (totals[name] ?? 0) + count;
    }
    // Not vacuous: commits were refused and failed, before and after the log had them.
    expect(Math.min(...Object.values(totals)), JSON.stringify(totals)).toBeGreaterThan(SEEDS / 4);
  },
);
