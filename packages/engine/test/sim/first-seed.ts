/**
 * Looks for the first seed whose run breaks something. By seed: SIM_SEED starts elsewhere.
 */

import { SimRunError } from "./simulation.ts";

export const BASE_SEED = Number(process.env["SIM_SEED"] ?? 10_000);

/** The first seed that shows the bug. */
export async function firstSeed(
  most: number,
  run: (seed: number) => Promise<unknown>,
): Promise<{ seed: number; invariant: string } | undefined> {
  for (let seed = BASE_SEED; seed < BASE_SEED + most; seed++) {
    try {
      await run(seed);
    } catch (error) {
      if (!(error instanceof SimRunError)) throw error;
      return { seed, invariant: error.failure.invariant };
    }
  }
  return undefined;
}
