/**
 * A run with a cluster: the simulation of a server and its peers, with all its checks, where the
 * server is three nodes over one log.
 */

import { CLUSTER_KINDS } from "./cluster-events.ts";
import { ClusterServer } from "./cluster-server.ts";
import { SimWorld } from "./sim-world.ts";
import { playSeed, type SimOptions, type SimReport, Simulation } from "./simulation.ts";

export { SimRunError } from "./simulation.ts";

export function simulateCluster(
  seed: number,
  { isVerbose, length }: SimOptions = {},
): Promise<SimReport> {
  const world = new SimWorld(seed, isVerbose === true, {
    newServer: (...args) => new ClusterServer(...args),
  });
  const simulation = new Simulation(world, {
    length,
    kinds: { others: CLUSTER_KINDS },
    flag: "--cluster",
  });
  return playSeed(seed, simulation);
}
