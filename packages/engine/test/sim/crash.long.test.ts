import { expect, test } from "vitest";
import { crashRun } from "./crash-run.ts";

const BASE_SEED = Number(process.env["SIM_SEED"] ?? 10_000);

test("[K23] a store survives thousands of crashes at any point, by seed", async () => {
  let lives = 0;
  for (let seed = BASE_SEED; seed < BASE_SEED + 300; seed++)
    lives += (await crashRun(seed, 12)).lives;
  expect(lives).toBe(3600);
}, 600_000);
