/**
 * The simulator of sync with peers that create, upload and fetch attachments.
 */

import { CONTENT_KINDS } from "./content-events.ts";
import { SimWorld } from "./sim-world.ts";
import { playSeed, type SimOptions, type SimReport, Simulation } from "./simulation.ts";

export { SimRunError } from "./simulation.ts";

export function simulateAttachments(
  seed: number,
  { isVerbose, length }: SimOptions = {},
): Promise<SimReport> {
  const world = new SimWorld(seed, isVerbose === true, { hasContents: true });
  const kinds = { more: CONTENT_KINDS };
  return playSeed(seed, new Simulation(world, { length, kinds, flag: "--attachments" }));
}
