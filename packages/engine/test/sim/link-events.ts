/**
 * What a seed lets happen to linked sites. As without links, each run has its own weights.
 */

import type { Random } from "../support/test-platform.ts";
import type { LinkCluster } from "./link-cluster.ts";
import { randomPulls, type SimPull } from "./link-topology.ts";
import { writeAtPeer } from "./sim-events.ts";
import type { SimConnection } from "./sim-network.ts";
import { randomWish } from "./sim-rules.ts";
import type { SimSite } from "./sim-site.ts";
import { randomServerStatement } from "./sim-statements.ts";

interface Kind {
  readonly name: string;
  readonly weight: number;
  readonly happen: (cluster: LinkCluster, site: SimSite) => void;
}

function writeAtSite(cluster: LinkCluster, site: SimSite): void {
  const { random } = cluster.scheduler;
  const tag = site.writes.nextTag(site.name);
  const statement = randomServerStatement(random, tag);
  const args = JSON.stringify(statement.args).slice(0, 200);
  site.node.note(`writes ${tag} ${statement.statement} ${args}`);
  if (statement.counts !== undefined) cluster.amounts.set(tag, statement.counts);
  void site.server.write(statement, undefined).then((isDone) => {
    if (isDone) cluster.count("direct write");
  });
}

function burstAtSite(cluster: LinkCluster, site: SimSite): void {
  for (let i = cluster.scheduler.random.below(8); i >= 0; i--) writeAtSite(cluster, site);
}

function writeAtSmallPeer({ scheduler }: LinkCluster, site: SimSite): void {
  if (site.peers.length > 0) writeAtPeer(site, scheduler.random.pick(site.peers));
}

/** A connection between the site and another one. */
function pickLink(cluster: LinkCluster, site: SimSite): SimConnection | undefined {
  const open = cluster.connectionsOf(site.name);
  return open.length === 0 ? undefined : cluster.scheduler.random.pick(open);
}

function cut(cluster: LinkCluster, site: SimSite): void {
  const { random } = cluster.scheduler;
  const kinds = ["both", "both", "client", "server", "neither", "late"] as const;
  pickLink(cluster, site)?.cut(random.pick(kinds));
}

function stall(cluster: LinkCluster, site: SimSite): void {
  const { scheduler } = cluster;
  const { up, down } = pickLink(cluster, site) ?? {};
  const pipe = scheduler.random.chance(0.5) ? up : down;
  pipe?.stall(scheduler.now + scheduler.between(200, 30_000));
}

function slow(cluster: LinkCluster, site: SimSite): void {
  const { random } = cluster.scheduler;
  const { up, down } = pickLink(cluster, site) ?? {};
  if (up !== undefined) up.rate = random.pick([400, 5, 1]);
  if (down !== undefined) down.rate = random.pick([400, 5, 1]);
}

function partition(cluster: LinkCluster, site: SimSite): void {
  const { scheduler, sites } = cluster;
  const others = sites.filter((other) => other !== site);
  const far = scheduler.random.chance(0.5) ? others : [scheduler.random.pick(others)];
  site.node.note(`is cut off from ${far.map(({ name }) => name).join(", ")}`);
  for (const other of far) cluster.setPartitioned(site, other, true);
  cluster.later(scheduler.between(500, 90_000), () => {
    for (const other of far) cluster.setPartitioned(site, other, false);
  });
}

function close(cluster: LinkCluster, site: SimSite): void {
  if (!site.isUp) return;
  const delay = cluster.scheduler.between(20, 5000);
  cluster.run(site.stop().then(() => cluster.later(delay, () => cluster.startSite(site))));
}

function backUp(cluster: LinkCluster, site: SimSite): void {
  if (!site.isUp) return;
  cluster.run(
    site.server.backup().then((backup) => {
      site.backup = backup;
    }),
  );
}

/** The site is lost, and what is left is a copy of an earlier time: with another history. */
function restore(cluster: LinkCluster, site: SimSite): void {
  const { backup } = site;
  if (!site.isUp || backup === undefined) return;
  site.backup = undefined;
  cluster.crash(site, false);
  cluster.count("restored");
  const delay = cluster.scheduler.between(20, 2000);
  cluster.run(
    site.server.restore(backup).then(() => cluster.later(delay, () => cluster.startSite(site))),
  );
}

/** Queries are added, removed, changed, or all taken away. */
function reconfigure(cluster: LinkCluster, site: SimSite): void {
  const { random } = cluster.scheduler;
  const other = random.pick([...site.pulls.keys()]);
  const now = site.pulls.get(other) ?? [];
  site.follow(other, cluster.known(changed(random, now)));
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

function unreplicate(cluster: LinkCluster, site: SimSite): void {
  site.setReplicated(false);
  const delay = cluster.scheduler.between(200, 10_000);
  cluster.later(delay, () => site.setReplicated(true));
}

function maintain(cluster: LinkCluster, site: SimSite): void {
  cluster.run(site.server.maintain());
}

/** Within the bound of the drift, or beyond it for a while. */
function jumpClock(cluster: LinkCluster, site: SimSite): void {
  const { scheduler } = cluster;
  const { node } = site;
  const jump = scheduler.random.pick([1500, -1500, 60_000, -60_000, 280_000, 400_000, -400_000]);
  node.skewMs += jump;
  node.note(`has its clock at ${node.skewMs}`);
  if (Math.abs(jump) < 300_000) return;
  cluster.later(scheduler.between(1000, 20_000), () => {
    node.skewMs -= jump;
    node.note(`has its clock at ${node.skewMs}`);
  });
}

/** Hours without anything, for everybody. */
function passTime(cluster: LinkCluster): void {
  cluster.passTime(cluster.scheduler.random.pick([120_000, 600_000, 3_600_000]));
}

/** A site is away until the others have cut their logs, and perhaps forgotten what was deleted. */
function outlast(cluster: LinkCluster, site: SimSite): void {
  const { scheduler, sites } = cluster;
  const others = sites.filter((other) => other !== site);
  site.node.note("is away for long");
  for (const other of others) cluster.setPartitioned(site, other, true);
  for (const other of others) burstAtSite(cluster, other);
  cluster.later(scheduler.between(500, 3000), () => {
    cluster.passTime(scheduler.random.pick([20_000, 60_000, 120_000]));
    for (const other of sites) burstAtSite(cluster, other);
  });
  cluster.later(4000, () => {
    for (const other of others) if (other.isUp) maintain(cluster, other);
  });
  cluster.later(scheduler.between(5000, 10_000), () => {
    for (const other of others) cluster.setPartitioned(site, other, false);
  });
}

function failWrite({ scheduler }: LinkCluster, site: SimSite): void {
  if (!site.isUp) return;
  site.node.note("will fail to write");
  site.node.disk.failNextWrite(scheduler.random.pick(["store.full", "store.write_failed"]));
}

function troublePeer(cluster: LinkCluster, site: SimSite): void {
  const { random } = cluster.scheduler;
  const peer = random.pick(site.peers);
  switch (random.below(5)) {
    case 0:
      return cluster.crashPeer(site, peer);
    case 1:
      return peer.setSync(!peer.isSyncWanted);
    case 2:
      return peer.follow(randomWish(random));
    default:
      site.network.of(peer.name)[0]?.cut(random.pick(["both", "client", "neither"]));
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
  { name: "crash", weight: 2, happen: (cluster, site) => cluster.crash(site, true) },
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

export async function drawLinkEvents(cluster: LinkCluster, length: number): Promise<void> {
  const { scheduler, sites } = cluster;
  const { random } = scheduler;
  const weights = drawWeights(random);
  const total = weights.reduce((a, b) => a + b, 0);
  const pace = random.pick([50, 300, 1500]);
  for (let i = 0; i < length; i++) {
    let left = (random.below(1_000_000) / 1_000_000) * total;
    const kind = KINDS[weights.findIndex((weight) => (left -= weight) < 0)] ?? KINDS[0];
    if (kind === undefined) return;
    cluster.count(kind.name);
    kind.happen(cluster, random.pick(sites));
    await scheduler.runFor(scheduler.between(0, random.chance(0.02) ? 40_000 : pace));
  }
}
