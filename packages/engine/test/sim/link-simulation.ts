/**
 * A run with links: two to five sites, each with its small peers and those who write to it, linked as
 * a seed has it; what the seed lets happen to them; then peace, until nothing is on its way; then rest,
 * in which nothing may cross; then what must hold is checked.
 */

import { START_MS } from "../support/test-platform.ts";
import { aheadMs, checkLinksAtEnd, unsettled } from "./link-check.ts";
import { LinkCluster } from "./link-cluster.ts";
import { drawLinkEvents } from "./link-events.ts";
import { randomTopology } from "./link-topology.ts";
import { type Scheduler, settled } from "./scheduler.ts";
import { randomWish, TALLY_WISH } from "./sim-rules.ts";
import { tallyInserts } from "./sim-statements.ts";
import { type Played, playSeed, prefixed, type SimOptions, type SimReport } from "./simulation.ts";

const PEACE_MS = 15 * 60_000;
/** Nothing happens for so long before it is said that all is settled. */
const QUIET_MS = 3000;
/** And then for so long nothing may: pings pass, cursors move. */
const REST_MS = 95_000;

class LinkSimulation implements Played {
  readonly cluster: LinkCluster;
  readonly scheduler: Scheduler;
  readonly length: number;
  readonly flag = "--links";
  /** How far all clocks are ahead in peace. */
  #peaceSkewMs = 0;

  constructor(seed: number, { isVerbose, length }: SimOptions) {
    this.cluster = new LinkCluster(seed, isVerbose === true);
    this.scheduler = this.cluster.scheduler;
    // Drawn also when it is given: so a run can be replayed with its length.
    const drawn = this.scheduler.random.pick([40, 80, 80, 150]);
    this.length = length ?? drawn;
  }

  get counts(): ReadonlyMap<string, number> {
    const { counts, claims, tap } = this.cluster;
    return new Map([...counts, ...prefixed("message", tap.counts), ["claim", claims.count]]);
  }

  async play(): Promise<void> {
    await this.#begin();
    await drawLinkEvents(this.cluster, this.length);
    if (await this.#settle()) {
      await this.#rest();
      checkLinksAtEnd(this.cluster);
    }
    await settled();
    if (this.scheduler.failure !== undefined) throw this.scheduler.failure;
  }

  async #begin(): Promise<void> {
    const { cluster, scheduler } = this;
    const { sites } = cluster;
    const { random } = scheduler;
    const topology = randomTopology(random);
    scheduler.note("world", topology.shape);
    cluster.count(topology.shape.split(" ")[1] ?? "");
    for (let i = 0; i < topology.sites; i++) cluster.addSite(i, topology.sites > 3 ? 1 : 2);
    for (const edge of topology.edges) cluster.connect(edge);
    for (const site of sites) cluster.startSite(site);
    await scheduler.runUntil(() => sites.every(({ isUp }) => isUp), 10_000);
    for (const { server } of sites) {
      for (const statement of tallyInserts()) void server.write(statement, undefined);
    }
    await scheduler.runFor(500);
    for (const { peers } of sites) {
      for (const peer of peers) {
        peer.follow(TALLY_WISH);
        if (random.chance(0.7)) peer.follow(randomWish(random));
        cluster.run(peer.start());
      }
    }
    await scheduler.runFor(500);
  }

  async #settle(): Promise<boolean> {
    const { cluster, scheduler } = this;
    const { sites } = cluster;
    scheduler.note("world", "peace");
    cluster.isPeace = true;
    for (const a of sites) for (const b of sites) cluster.setPartitioned(a, b, false);
    for (const connection of cluster.connections()) {
      connection.up.rate = connection.down.rate = 400;
    }
    for (const site of sites) {
      site.isPeace = true;
      site.setReplicated(true);
      site.node.writesToCrash = undefined;
      site.node.disk.failNextWrite(undefined);
      for (const peer of site.peers) {
        peer.mendStorage();
        peer.setSync(true);
      }
    }
    // Whoever is just writing, finishes it first; and whose clock is off, for a while, has it set.
    await scheduler.runFor(1000);
    this.#setClocks();
    if (!(await this.#untilQuiet())) return false;
    // The sites that a Big Peer has heard of go on with the next ping (S60), from one to the next.
    await scheduler.runFor(REST_MS);
    return this.#untilQuiet();
  }

  async #untilQuiet(): Promise<boolean> {
    const { scheduler } = this;
    let nextLook = 0;
    let last = "";
    let since = scheduler.now;
    const isDone = (): boolean => {
      if (scheduler.now < nextLook) return false;
      nextLook = scheduler.now + 250;
      // What was taken by a clock from before may come to the disk a while later (seed 10251).
      if (aheadMs(this.cluster, START_MS + scheduler.now) > this.#peaceSkewMs) this.#setClocks();
      const now = this.#activity();
      if (now !== last || unsettled(this.cluster) !== undefined) since = scheduler.now;
      last = now;
      return scheduler.now - since >= QUIET_MS;
    };
    const isInTime = await scheduler.runUntil(isDone, scheduler.now + PEACE_MS);
    if (!isInTime)
      scheduler.fail("everyone settles", unsettled(this.cluster) ?? "something goes on");
    return isInTime;
  }

  /** No document crosses any link, and no store makes a transaction. */
  async #rest(): Promise<void> {
    const { scheduler } = this;
    scheduler.note("world", "rest");
    const before = this.#activity();
    await scheduler.runFor(REST_MS);
    const after = this.#activity();
    if (after === before) return;
    const detail = `documents and transactions of the sites: ${before}, then ${after}`;
    scheduler.fail("at rest no document crosses and no transaction is made", detail);
  }

  /** Moves all clocks to the latest one, so that no write has a time in the future. */
  #setClocks(): void {
    const skew = Math.max(aheadMs(this.cluster, START_MS + this.scheduler.now), 0) + 1000;
    this.#peaceSkewMs = skew;
    for (const { node, peers } of this.cluster.sites) {
      node.skewMs = skew;
      for (const peer of peers) peer.node.skewMs = skew;
    }
  }

  #activity(): string {
    const { tap, sites } = this.cluster;
    return [tap.documents, ...sites.map(({ book }) => book.txn)].join();
  }
}

export { SimRunError } from "./simulation.ts";

export function simulateLinks(seed: number, options: SimOptions = {}): Promise<SimReport> {
  return playSeed(seed, new LinkSimulation(seed, options));
}
