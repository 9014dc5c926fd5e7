/**
 * What happens to devices: statements are run on them while connections break and peers die, they say
 * something else of themselves, and want to know who is there or do not.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Random } from "../support/test-platform.ts";
import type { SimPeer } from "./sim-peer.ts";
import type { SimWorld } from "./sim-world.ts";

function runOnPeers(world: SimWorld, peer: SimPeer): void {
  const { runs, scheduler } = world;
  const { random } = scheduler;
  const bounds = runs.randomBounds();
  const machine = world.pickMachine();
  const open = runs.start(machine, runs.randomSessions(machine), bounds);
  if (open === undefined || !random.chance(0.4)) return;
  // Somebody who may have been asked is lost half-way.
  const mishap = random.pick(["cut", "crash", "stall", "server"] as const);
  world.later(scheduler.between(0, bounds.ms), () => {
    if (!world.isPeace) happen(world, peer, mishap);
  });
}

function happen(world: SimWorld, peer: SimPeer, mishap: string): void {
  const { network, scheduler } = world;
  const [connection] = network.of(peer.name);
  switch (mishap) {
    case "crash":
      return world.crashPeer(peer);
    case "stall":
      return connection?.down.stall(scheduler.now + scheduler.between(200, 5000));
    case "server":
      if (scheduler.random.chance(0.1)) world.crashMachine(world.pickMachine());
      return;
    default:
      connection?.cut(scheduler.random.pick(["both", "client", "server", "neither", "late"]));
  }
}

/** More than a peer runs at a time. */
function burstOfRuns(world: SimWorld): void {
  const { runs, scheduler } = world;
  const machine = world.pickMachine();
  const sessions = runs.randomSessions(machine).slice(0, 2);
  for (let i = 10 + scheduler.random.below(15); i > 0; i--) {
    runs.start(machine, sessions, runs.randomBounds());
  }
}

function randomMetadata(random: Random): ValueObject {
  if (random.chance(0.1)) return {};
  const text = "m".repeat(random.pick([0, 10, 10, 3000]));
  return { n: random.below(1000), text };
}

/** Several times in a row, of which the last counts. */
function describe({ scheduler }: SimWorld, peer: SimPeer): void {
  const { random } = scheduler;
  for (let i = random.pick([1, 1, 3]); i > 0; i--) peer.device.setMetadata(randomMetadata(random));
}

function watch({ scheduler }: SimWorld, { device }: SimPeer): void {
  const { random } = scheduler;
  if (random.chance(0.2)) device.setWatching(!device.isWatching);
  device.setWatching(random.chance(0.7));
}

/** A greeting is heard when the peer has gone and greets on another connection. */
function cutAtGreeting(world: SimWorld, peer: SimPeer): void {
  const { network } = world;
  const before = network.of(peer.name);
  for (const connection of before) connection.cut("both");
  const look = (times: number): void => {
    const greeting = network.of(peer.name).find((each) => {
      return !before.includes(each) && each.up.inFlight > 0;
    });
    greeting?.cut("late");
    if (greeting === undefined && times > 0) world.later(5, () => look(times - 1));
  };
  look(200);
}

export const DEVICE_KINDS: readonly {
  readonly name: string;
  readonly weight: number;
  readonly happen: (world: SimWorld, peer: SimPeer) => void;
}[] = [
  { name: "run on peers", weight: 8, happen: runOnPeers },
  { name: "burst of runs", weight: 0.5, happen: burstOfRuns },
  { name: "metadata", weight: 4, happen: describe },
  { name: "watch", weight: 4, happen: watch },
  { name: "cut at a greeting", weight: 1, happen: cutAtGreeting },
];
