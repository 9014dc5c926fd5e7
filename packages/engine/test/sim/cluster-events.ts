/**
 * What happens to a cluster: nodes crash, are closed, cut off, or lag; another one begins to
 * evaluate, with or without the consent of the one before; the log loses its leader, or is trimmed.
 */

import type { ClusterNode } from "./cluster-node.ts";
import { ClusterServer } from "./cluster-server.ts";
import type { Kind } from "./sim-events.ts";
import type { SimWorld } from "./sim-world.ts";

type Happening = (world: SimWorld, server: ClusterServer, node: ClusterNode) => void;

function kind(name: string, weight: number, happen: Happening): Kind {
  return {
    name,
    weight,
    happen: (world) => {
      const { server, scheduler } = world;
      if (!(server instanceof ClusterServer)) return;
      happen(world, server, scheduler.random.pick(server.nodes));
    },
  };
}

/** The node that evaluates, most of the time: what happens to it matters most. */
function important({ scheduler }: SimWorld, server: ClusterServer, any: ClusterNode): ClusterNode {
  const found = server.nodes.find(({ replica }) => replica?.role === "evaluating");
  return scheduler.random.chance(0.7) ? (found ?? any) : any;
}

/** Whoever is just evaluating does not know of it. */
function depose(_: SimWorld, server: ClusterServer, node: ClusterNode): void {
  server.note(`${node.name} begins to evaluate`);
  void node.replica?.evaluate().catch(() => false);
}

function handOver(_: SimWorld, server: ClusterServer, node: ClusterNode): void {
  const from = server.nodes.find(({ replica }) => replica?.role === "evaluating");
  server.note(`${from?.name} hands over to ${node.name}`);
  void from?.replica?.stepDown().then(() => node.replica?.evaluate().catch(() => false));
}

/** In order; where the log cannot be reached it takes too long, and the process is ended. */
function close(world: SimWorld, _: ClusterServer, { machine }: ClusterNode): void {
  if (!machine.isUp) return;
  const { scheduler, network } = world;
  const { life } = machine.node;
  const restart = (): void => world.startMachine(machine);
  const end = (): void => {
    for (const connection of network.connections) {
      if (machine.hasAccepted(connection.server)) connection.cut("client");
    }
    world.later(scheduler.between(20, 5000), restart);
  };
  world.run(machine.stop().then(end));
  life.after(3000, () => {
    machine.crash();
    end();
  });
}

function loseDisk(world: SimWorld, server: ClusterServer, node: ClusterNode): void {
  const others = server.nodes.filter((each) => each !== node && each.isReachable);
  if (others.length === 0 || !node.machine.isUp) return;
  world.crashMachine(node.machine);
  node.loseDisk();
}

function loseLeader(world: SimWorld, server: ClusterServer): void {
  server.setLogDown(true);
  world.later(world.scheduler.between(100, 9000), () => server.setLogDown(false));
}

function trim(world: SimWorld, server: ClusterServer): void {
  const through = Math.min(...server.nodes.map(({ durableSequence }) => durableSequence));
  server.note(`trims the log through ${through}`);
  world.run(server.log.trim(through));
}

function jumpClock({ scheduler }: SimWorld, _: ClusterServer, { machine }: ClusterNode): void {
  machine.node.skewMs = scheduler.random.pick([0, 0, 1500, -1500, 10_000, -10_000]);
  machine.note(`has its clock at ${machine.node.skewMs}`);
}

export const CLUSTER_KINDS: readonly Kind[] = [
  kind("crash of a node", 2, (world, server, node) => {
    world.crashMachine(important(world, server, node).machine);
  }),
  kind("close of a node", 1, (world, server, node) => {
    close(world, server, important(world, server, node));
  }),
  kind("lost disk", 0.5, loseDisk),
  kind("cut of a node", 3, (world, server, node) => {
    important(world, server, node).cut(world.scheduler.between(50, 15_000));
  }),
  kind("lag", 4, (world, _, node) => node.lag(world.scheduler.between(50, 9000))),
  kind("depose", 2, depose),
  kind("hand-over", 1.5, handOver),
  kind("lost leader", 1, loseLeader),
  kind("broken tails", 1, (_, server) => server.log.breakTails()),
  kind("trim", 1, trim),
  kind("clock of a node", 0.5, jumpClock),
];
