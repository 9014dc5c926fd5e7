/**
 * LinkCluster: the sites of a run with links, each with its small peers, and what can be done to
 * them: sites are added and connected, crash and come back, and lose their links.
 */

import { seededRandom } from "../support/test-platform.ts";
import { LinkClaims } from "./link-claims.ts";
import { LinkTap } from "./link-tap.ts";
import { randomPulls, type SimEdge, type SimPull, statementOfPull } from "./link-topology.ts";
import { Scheduler } from "./scheduler.ts";
import type { SimConnection } from "./sim-network.ts";
import type { SimPeer } from "./sim-peer.ts";
import { EVERYTHING, type Rule } from "./sim-rules.ts";
import { SimSite } from "./sim-site.ts";
import { type Life, SiteBook } from "./site-book.ts";

export class LinkCluster {
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

  *connections(): Iterable<SimConnection> {
    for (const { calls } of this.sites) yield* calls.connections;
  }

  /** Links of a site, dialled by either side. */
  connectionsOf(name: string): SimConnection[] {
    const own = this.site(name).calls;
    return [...this.connections()].filter((connection) => {
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
    connection.cut(this.scheduler.random.chance(0.7) ? other : "neither");
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

  addSite(number: number, mostPeers: number): void {
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

  connect({ dialler, acceptor, isMutual, isPulling, isPulled }: SimEdge): void {
    const { random } = this.scheduler;
    const [a, b] = [this.sites[dialler], this.sites[acceptor]];
    if (a === undefined || b === undefined) return;
    a.dials.add(b.name);
    if (isMutual) b.dials.add(a.name);
    a.follow(b.name, this.known(isPulling ? randomPulls(random) : []));
    b.follow(a.name, this.known(isPulled ? randomPulls(random) : []));
  }
}
