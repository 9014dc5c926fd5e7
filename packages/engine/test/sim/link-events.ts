/**
 * What a seed lets happen to linked sites. As without links, each run has its own weights.
 */

import type { Random } from "../support/test-platform.ts";
import type { LinkSimulation } from "./link-simulation.ts";
import { randomPulls, type SimPull } from "./link-topology.ts";
import { writeAtPeer } from "./sim-events.ts";
import type { SimConnection } from "./sim-network.ts";
import { randomWish } from "./sim-rules.ts";
import type { SimSite } from "./sim-site.ts";
import { randomServerStatement } from "./sim-statements.ts";

interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly happen: (simulation: LinkSimulation, site: SimSite) => void;
}

function writeAtSite(simulation: LinkSimulation, site: SimSite): void {
  const { random } = simulation.scheduler;
  const tag = site.writes.nextTag(site.name);
  const statement = randomServerStatement(random, tag);
  const args = JSON.stringify(statement.args).slice(0, 200);
  site.node.note(`writes ${tag} ${statement.statement} ${args}`);
  if (statement.counts !== undefined) simulation.amounts.set(tag, statement.counts);
  void site.server.write(statement, undefined).then((isDone) => {
    if (isDone) simulation.count("direct write");
  });
}

function burstAtSite(simulation: LinkSimulation, site: SimSite): void {
  for (let i = simulation.scheduler.random.below(8); i >= 0; i--) writeAtSite(simulation, site);
}

function writeAtSmallPeer({ scheduler }: LinkSimulation, site: SimSite): void {
  if (site.peers.length > 0) writeAtPeer(site, scheduler.random.pick(site.peers));
}

/** A connection between the site and another one. */
function pickLink(simulation: LinkSimulation, site: SimSite): SimConnection | undefined {
  const open = simulation.connectionsOf(site.name);
  return open.length === 0 ? undefined : simulation.scheduler.random.pick(open);
}

function cut(simulation: LinkSimulation, site: SimSite): void {
  const { random } = simulation.scheduler;
  const kinds = ["both", "both", "client", "server", "nobody", "late"] as const;
  pickLink(simulation, site)?.cut(random.pick(kinds));
}

function stall(simulation: LinkSimulation, site: SimSite): void {
  const { scheduler } = simulation;
  const { up, down } = pickLink(simulation, site) ?? {};
  const pipe = scheduler.random.chance(0.5) ? up : down;
  pipe?.stall(scheduler.now + scheduler.between(200, 30_000));
}

function slow(simulation: LinkSimulation, site: SimSite): void {
  const { random } = simulation.scheduler;
  const { up, down } = pickLink(simulation, site) ?? {};
  if (up !== undefined) up.rate = random.pick([400, 5, 1]);
  if (down !== undefined) down.rate = random.pick([400, 5, 1]);
}

function partition(simulation: LinkSimulation, site: SimSite): void {
  const { scheduler, sites } = simulation;
  const others = sites.filter((other) => other !== site);
  const far = scheduler.random.chance(0.5) ? others : [scheduler.random.pick(others)];
  site.node.note(`is cut off from ${far.map(({ name }) => name).join(", ")}`);
  for (const other of far) simulation.setPartitioned(site, other, true);
  simulation.later(scheduler.between(500, 90_000), () => {
    for (const other of far) simulation.setPartitioned(site, other, false);
  });
}

function close(simulation: LinkSimulation, site: SimSite): void {
  if (!site.isUp) return;
  const delay = simulation.scheduler.between(20, 5000);
  simulation.run(site.stop().then(() => simulation.later(delay, () => simulation.startSite(site))));
}

function backUp(simulation: LinkSimulation, site: SimSite): void {
  if (!site.isUp) return;
  simulation.run(
    site.server.backup().then((backup) => {
      site.backup = backup;
    }),
  );
}

/** The site is lost, and what is left is a copy of an earlier time: with another history. */
function restore(simulation: LinkSimulation, site: SimSite): void {
  const { backup } = site;
  if (!site.isUp || backup === undefined) return;
  site.backup = undefined;
  simulation.crash(site, false);
  simulation.count("restored");
  const delay = simulation.scheduler.between(20, 2000);
  simulation.run(
    site.server
      .restore(backup)
      .then(() => simulation.later(delay, () => simulation.startSite(site))),
  );
}

/** Queries are added, removed, changed, or all taken away. */
function reconfigure(simulation: LinkSimulation, site: SimSite): void {
  const { random } = simulation.scheduler;
  const other = random.pick([...site.pulls.keys()]);
  const now = site.pulls.get(other) ?? [];
  site.follow(other, simulation.known(changed(random, now)));
}

function changed(random: Random, now: readonly SimPull[]): readonly SimPull[] {
  switch (random.below(5)) {
    case 0:
      return now.slice(random.below(Math.max(1, now.length)));
    case 1:
      return [];
    case 2:
      return [...now, ...randomPulls(random).slice(0, 1)];
    default:
      return randomPulls(random);
  }
}

function unreplicate(simulation: LinkSimulation, site: SimSite): void {
  site.setReplicated(false);
  const delay = simulation.scheduler.between(200, 10_000);
  simulation.later(delay, () => site.setReplicated(true));
}

function maintain(simulation: LinkSimulation, site: SimSite): void {
  simulation.run(site.server.maintain());
}

/** Within the bound of the drift, or beyond it for a while. */
function jumpClock(simulation: LinkSimulation, site: SimSite): void {
  const { scheduler } = simulation;
  const { node } = site;
  const jump = scheduler.random.pick([1500, -1500, 60_000, -60_000, 280_000, 400_000, -400_000]);
  node.skewMs += jump;
  node.note(`has its clock at ${node.skewMs}`);
  if (Math.abs(jump) < 300_000) return;
  simulation.later(scheduler.between(1000, 20_000), () => {
    node.skewMs -= jump;
    node.note(`has its clock at ${node.skewMs}`);
  });
}

/** Hours without anything, for everybody. */
function passTime(simulation: LinkSimulation): void {
  simulation.passTime(simulation.scheduler.random.pick([120_000, 600_000, 3_600_000]));
}

/** A site is away until the others have cut their logs, and perhaps forgotten what was deleted. */
function outlast(simulation: LinkSimulation, site: SimSite): void {
  const { scheduler, sites } = simulation;
  const others = sites.filter((other) => other !== site);
  site.node.note("is away for long");
  for (const other of others) simulation.setPartitioned(site, other, true);
  for (const other of others) burstAtSite(simulation, other);
  simulation.later(scheduler.between(500, 3000), () => {
    simulation.passTime(scheduler.random.pick([20_000, 60_000, 120_000]));
    for (const other of sites) burstAtSite(simulation, other);
  });
  simulation.later(4000, () => {
    for (const other of others) if (other.isUp) maintain(simulation, other);
  });
  simulation.later(scheduler.between(5000, 10_000), () => {
    for (const other of others) simulation.setPartitioned(site, other, false);
  });
}

function failWrite({ scheduler }: LinkSimulation, site: SimSite): void {
  if (!site.isUp) return;
  site.node.note("will fail to write");
  site.node.disk.failNextWrite(scheduler.random.pick(["store.full", "store.write_failed"]));
}

function troublePeer(simulation: LinkSimulation, site: SimSite): void {
  const { random } = simulation.scheduler;
  const peer = random.pick(site.peers);
  switch (random.below(5)) {
    case 0:
      return simulation.crashPeer(site, peer);
    case 1:
      return peer.setSync(!peer.isSyncWanted);
    case 2:
      return peer.follow(randomWish(random));
    default:
      site.network.of(peer.name)[0]?.cut(random.pick(["both", "client", "nobody"]));
  }
}

const KINDS: readonly Kind[] = [
  { name: "write at a site", weight: 30, happen: writeAtSite },
  { name: "burst at a site", weight: 3, happen: burstAtSite },
  { name: "write at a peer", weight: 12, happen: writeAtSmallPeer },
  { name: "cut", weight: 6, happen: cut },
  { name: "stall", weight: 3, happen: stall },
  { name: "slow", weight: 2, happen: slow },
  { name: "partition", weight: 3, happen: partition },
  { name: "crash", weight: 2, happen: (simulation, site) => simulation.crash(site, true) },
  {
    name: "crash at a write",
    weight: 4,
    happen: ({ scheduler }, site) => {
      site.node.writesToCrash = scheduler.random.below(10);
    },
  },
  { name: "close", weight: 1, happen: close },
  { name: "backup", weight: 2, happen: backUp },
  { name: "restore", weight: 2, happen: restore },
  { name: "reconfigure", weight: 5, happen: reconfigure },
  { name: "no replication", weight: 0.7, happen: unreplicate },
  { name: "maintenance", weight: 5, happen: maintain },
  { name: "clock", weight: 1, happen: jumpClock },
  { name: "time passes", weight: 1, happen: passTime },
  { name: "outage", weight: 1.5, happen: outlast },
  { name: "failing disk", weight: 0.7, happen: failWrite },
  { name: "trouble of a peer", weight: 3, happen: troublePeer },
];

/** Whoever writes always does; all else happens often, seldom or never in a run. */
function drawWeights(random: Random): number[] {
  return KINDS.map(({ weight }, i) => (i < 3 ? weight : weight * random.pick([0, 0.3, 1, 1, 3])));
}

export async function drawLinkEvents(simulation: LinkSimulation, length: number): Promise<void> {
  const { scheduler, sites } = simulation;
  const { random } = scheduler;
  const weights = drawWeights(random);
  const total = weights.reduce((a, b) => a + b, 0);
  const pace = random.pick([50, 300, 1500]);
  for (let i = 0; i < length; i++) {
    let left = (random.below(1_000_000) / 1_000_000) * total;
    const kind = KINDS[weights.findIndex((weight) => (left -= weight) < 0)] ?? KINDS[0];
    if (kind === undefined) return;
    simulation.count(kind.name);
    kind.happen(simulation, random.pick(sites));
    await scheduler.runFor(scheduler.between(0, random.chance(0.02) ? 40_000 : pace));
  }
}
