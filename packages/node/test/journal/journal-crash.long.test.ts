import { expect, test } from "vitest";
import { journalCrashRun } from "../support/journal-crash-run.ts";

const BASE_SEED = Number(process.env["SIM_SEED"] ?? 10_000);

test("[K6] a journal survives thousands of crashes at any point, by seed", async () => {
  let acknowledged = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 500; seed++) {
    acknowledged += (await journalCrashRun(seed, 12)).acknowledged;
  }
  expect(acknowledged).toBeGreaterThan(20_000);
}, 600_000);
