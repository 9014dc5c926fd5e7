/**
 * The simulator of sync with peers whose storage is that of browsers, on a simulated IndexedDB.
 */

import { SimWorld } from "../../../engine/test/sim/sim-world.ts";
import {
  playSeed,
  type SimOptions,
  type SimReport,
  Simulation,
} from "../../../engine/test/sim/simulation.ts";
import { IndexedMedium } from "../support/indexed-medium.ts";

export { SimRunError } from "../../../engine/test/sim/simulation.ts";

export function simulateIndexed(
  seed: number,
  { isVerbose, length }: SimOptions = {},
): Promise<SimReport> {
  const world = new SimWorld(seed, isVerbose === true, {
    newMedium: (node) => new IndexedMedium(node),
  });
  return playSeed(seed, new Simulation(world, { length, flag: "--browser" }));
}
