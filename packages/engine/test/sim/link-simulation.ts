/**
 * A run with links: two to five sites, each with its small peers and those who write to it, linked as
 * a seed has it; what the seed lets happen to them; then peace, until nothing is on its way; then rest,
 * in which nothing may cross; then what must hold is checked.
 */

import { START_MS, seededRandom } from "../support/test-platform.ts";
import { aheadMs, checkLinksAtEnd, unsettled } from "./link-check.ts";
import { LinkClaims } from "./link-claims.ts";
import { drawLinkEvents } from "./link-events.ts";
import { LinkTap } from "./link-tap.ts";
import {
  randomPulls,
  randomTopology,
  type SimEdge,
  type SimPull,
  statementOfPull,
} from "./link-topology.ts";
import { Scheduler, SimFailure, settled } from "./scheduler.ts";
import type { SimConnection } from "./sim-network.ts";
import type { SimPeer } from "./sim-peer.ts";
import { EVERYTHING, type Rule, randomWish, TALLY_WISH } from "./sim-rules.ts";
import { SimSite } from "./sim-site.ts";
import { tallyInserts } from "./sim-statements.ts";
import { type SimOptions, type SimReport, SimRunError } from "./simulation.ts";
import { type Life, SiteBook } from "./site-book.ts";

const PEACE_MS = 15 * 60_000;
/** Nothing happens for so long before it is said that all is settled. */
const QUIET_MS = 3000;
/** And then for so long nothing may: pings pass, cursors move. */
const REST_MS = 95_000;

export class LinkSimulation {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly sites: SimSite[] = [];
  readonly claims: LinkClaims;
  readonly tap: LinkTap;
  readonly counts = new Map<string, number>();
  /** What direct writers have added to the tallies. */
  readonly amounts = new Map<string, { readonly id: string; readonly by: number }>();
  readonly #rules = new Map<string, Rule>();
  readonly #pulls = new Map<string, SimPull>();
  /** How far all clocks are ahead in peace. */
  #peaceSkewMs = 0;
  isPeace = false;

  constructor(seed: number, isVerbose: boolean) {
    this.seed = seed;
    const scheduler = new Scheduler(seededRandom(seed), isVerbose);
    this.scheduler = scheduler;
    this.claims = new LinkClaims({
      scheduler,
      lifeOf: (history) => this.#lifeOf(history),
      rule: (condition) => this.#rules.get(condition) ?? EVERYTHING,
    });
    const { claims } = this;
    this.tap = new LinkTap({
      scheduler,
      claims,
      pullOf: (statement) => this.#pulls.get(statement),
    });
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  site(name: string): SimSite {
    const found = this.sites.find((site) => site.name === name);
    if (found === undefined) throw new Error(`no site ${name}`);
    return found;
  }

  /** Pulls of which it is known what they mean. */
  known(pulls: readonly SimPull[]): readonly SimPull[] {
    const kept = new Map<string, SimPull>();
    for (const pull of pulls) {
      const statement = statementOfPull(pull);
      this.#rules.set(pull.rule.text, pull.rule);
      this.#pulls.set(statement, pull);
      kept.set(statement, pull);
    }
    return [...kept.values()];
  }

  /** What a write has added to a tally. */
  amountOf(tag: string, id: string): number {
    const direct = this.amounts.get(tag);
    if (direct !== undefined) return direct.id === id ? direct.by : 0;
    let amount = 0;
    for (const { writes } of this.sites) {
      for (const each of writes.get(tag)?.counts ?? []) if (each.id === id) amount += each.by;
    }
    return amount;
  }

  #lifeOf(history: string): Life | undefined {
    for (const { book } of this.sites) {
      const life = book.lifeOf(history);
      if (life !== undefined) return life;
    }
    return undefined;
  }

  *#connections(): Iterable<SimConnection> {
    for (const { calls } of this.sites) yield* calls.connections;
  }

  /** Links of a site, whoever has dialled them. */
  connectionsOf(name: string): SimConnection[] {
    const own = this.site(name).calls;
    return [...this.#connections()].filter((connection) => {
      return connection.network === own || connection.dialler === name;
    });
  }

  setPartitioned(a: SimSite, b: SimSite, isPartitioned: boolean): void {
    for (const [to, from] of [
      [a, b],
      [b, a],
    ] as const) {
      if (isPartitioned) to.calls.partition(from.name);
      else to.calls.heal(from.name);
    }
  }

  startSite(site: SimSite): void {
    this.run(site.server.start());
  }

  crash(site: SimSite, isStarted: boolean): void {
    if (!site.isUp) return;
    this.count("site crash");
    site.crash();
    for (const connection of site.network.connections) this.#lose(connection, "client");
    for (const connection of this.connectionsOf(site.name)) {
      this.#lose(connection, connection.dialler === site.name ? "server" : "client");
    }
    if (isStarted) this.later(this.scheduler.between(20, 8000), () => this.startSite(site));
  }

  crashPeer(site: SimSite, peer: SimPeer): void {
    if (!peer.isUp) return;
    this.count("peer crash");
    peer.crash();
    for (const connection of site.network.of(peer.name)) this.#lose(connection, "server");
    this.later(this.scheduler.between(20, 8000), () => this.run(peer.start()));
  }

  /** The other side hears of it, or does not. */
  #lose(connection: SimConnection, other: "client" | "server"): void {
    connection.cut(this.scheduler.random.chance(0.7) ? other : "nobody");
  }

  later(delayMs: number, work: () => void): void {
    this.scheduler.after(this.isPeace ? Math.min(delayMs, 500) : delayMs, work);
  }

  /** For everybody alike. */
  passTime(ms: number): void {
    this.scheduler.note("world", `${ms} ms pass`);
    for (const { node, peers } of this.sites) {
      node.skewMs += ms;
      for (const peer of peers) peer.node.skewMs += ms;
    }
  }

  /** What the harness itself awaits must not fail. */
  run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? "") : String(error);
      this.scheduler.fail("a store can be opened", text);
    });
  }

  async play(length: number): Promise<void> {
    await this.#begin();
    await drawLinkEvents(this, length);
    if (await this.#settle()) {
      await this.#rest();
      checkLinksAtEnd(this);
    }
    await settled();
    if (this.scheduler.failure !== undefined) throw this.scheduler.failure;
  }

  async #begin(): Promise<void> {
    const { scheduler } = this;
    const { random } = scheduler;
    const topology = randomTopology(random);
    scheduler.note("world", topology.shape);
    this.count(topology.shape.split(" ")[1] ?? "");
    for (let i = 0; i < topology.sites; i++) this.#addSite(i, topology.sites > 3 ? 1 : 2);
    for (const edge of topology.edges) this.#connect(edge);
    for (const site of this.sites) this.startSite(site);
    await scheduler.runUntil(() => this.sites.every(({ isUp }) => isUp), 10_000);
    for (const { server } of this.sites) {
      for (const statement of tallyInserts()) void server.write(statement, undefined);
    }
    await scheduler.runFor(500);
    for (const { peers } of this.sites) {
      for (const peer of peers) {
        peer.follow(TALLY_WISH);
        if (random.chance(0.7)) peer.follow(randomWish(random));
        this.run(peer.start());
      }
    }
    await scheduler.runFor(500);
  }

  #addSite(number: number, mostPeers: number): void {
    const { scheduler, tap, claims } = this;
    const name = "abcde"[number] ?? "";
    const book = new SiteBook({
      name,
      scheduler,
      onClaims: (of, made) => claims.check(of, made),
    });
    const site = new SimSite({
      scheduler,
      seed: this.seed * 31 + number * 7 + 1,
      book,
      links: tap,
      site: (other) => this.site(other),
      count: (what) => this.count(what),
    });
    site.node.onPowerLoss = () => this.crash(site, true);
    this.sites.push(site);
    const peers = 1 + scheduler.random.below(mostPeers);
    for (let i = 0; i < peers; i++) {
      const peer = site.addPeer();
      peer.node.onPowerLoss = () => this.crashPeer(site, peer);
    }
  }

  #connect({ dialler, acceptor, isMutual, isPulling, isPulled }: SimEdge): void {
    const { random } = this.scheduler;
    const [a, b] = [this.sites[dialler], this.sites[acceptor]];
    if (a === undefined || b === undefined) return;
    a.dials.add(b.name);
    if (isMutual) b.dials.add(a.name);
    a.follow(b.name, this.known(isPulling ? randomPulls(random) : []));
    b.follow(a.name, this.known(isPulled ? randomPulls(random) : []));
  }

  async #settle(): Promise<boolean> {
    const { scheduler, sites } = this;
    scheduler.note("world", "peace");
    this.isPeace = true;
    for (const a of sites) for (const b of sites) this.setPartitioned(a, b, false);
    for (const connection of this.#connections()) {
      connection.up.rate = connection.down.rate = 400;
    }
    for (const site of sites) {
      site.isPeace = true;
      site.setReplicated(true);
      site.node.writesToCrash = undefined;
      site.node.disk.failNextWrite(undefined);
      for (const peer of site.peers) peer.setSync(true);
    }
    // Whoever is just writing, finishes it first; and whose clock is off, for a while, has it set.
    await scheduler.runFor(1000);
    this.#setClocks();
    if (!(await this.#untilQuiet())) return false;
    // The sites that a Big Peer has heard of go on with the next ping (S60), from one to the next.
    await scheduler.runFor(REST_MS);
    return this.#untilQuiet();
  }

  /** To the time of whoever is ahead: then nothing that was written is in the future. */
  #setClocks(): void {
    const skew = Math.max(aheadMs(this, START_MS + this.scheduler.now), 0) + 1000;
    this.#peaceSkewMs = skew;
    for (const { node, peers } of this.sites) {
      node.skewMs = skew;
      for (const peer of peers) peer.node.skewMs = skew;
    }
  }

  #activity(): string {
    return [this.tap.documents, ...this.sites.map(({ book }) => book.txn)].join();
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
      if (aheadMs(this, START_MS + scheduler.now) > this.#peaceSkewMs) this.#setClocks();
      const now = this.#activity();
      if (now !== last || unsettled(this) !== undefined) since = scheduler.now;
      last = now;
      return scheduler.now - since >= QUIET_MS;
    };
    const isInTime = await scheduler.runUntil(isDone, scheduler.now + PEACE_MS);
    if (!isInTime) scheduler.fail("everyone settles", unsettled(this) ?? "something goes on");
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
}

export { SimRunError } from "./simulation.ts";

export async function simulateLinks(seed: number, options: SimOptions = {}): Promise<SimReport> {
  const simulation = new LinkSimulation(seed, options.isVerbose === true);
  const { scheduler } = simulation;
  const onRejection = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scheduler.fail("no promise is left to itself", text);
  };
  process.on("unhandledRejection", onRejection);
  try {
    await simulation.play(options.length ?? scheduler.random.pick([40, 80, 80, 150]));
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimRunError(seed, error, scheduler.trace);
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  const { counts, claims, tap } = simulation;
  for (const [name, count] of tap.counts) counts.set(`message ${name}`, count);
  counts.set("claim", claims.count);
  const { steps, now, fingerprint } = scheduler;
  return { seed, steps, spanMs: now, fingerprint, counts };
}
