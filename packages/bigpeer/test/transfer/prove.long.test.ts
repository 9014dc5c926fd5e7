/**
 * A small run of `npm run prove -- import`: the import, the export and the server are killed at
 * random, and all stores are equal. The rate is measured by the proof itself, on a quiet machine.
 */

import { expect, test } from "vitest";
import { transfer } from "../../../../prove/import/transfers.mjs";

test("imports and exports that are killed at random and resumed give equal stores, with little memory", async () => {
  const options = { documents: 20_000, rounds: 2, kills: 8, seed: 1 };
  const { failures, kills, memoryMb } = await transfer(options);
  expect(failures).toEqual([]);
  expect(kills).toBe(8);
  expect(memoryMb).toBeLessThan(400);
}, 600_000);
