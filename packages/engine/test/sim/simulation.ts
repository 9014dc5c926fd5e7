/**
 * A run: the server, its peers, the network between them, and what a seed lets happen to them; then
 * peace, until everyone has settled; then what must hold is checked.
 */

import { seededRandom } from "../support/test-platform.ts";
import { checkAtEnd, isSettled } from "./end-check.ts";
import { LocalWrites } from "./local-writes.ts";
import { Scheduler, SimFailure, settled } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import { drawEvents } from "./sim-events.ts";
import { SimNetwork } from "./sim-network.ts";
import { SimPeer } from "./sim-peer.ts";
import { SimPresence } from "./sim-presence.ts";
import { randomWish, TALLY_WISH } from "./sim-rules.ts";
import { SimRuns } from "./sim-runs.ts";
import { type Backup, SimServer } from "./sim-server.ts";
import { stillInserts, tallyInserts } from "./sim-statements.ts";
import { tapOf, type WireTap } from "./wire-tap.ts";

export interface SimOptions {
  /** Prints everything that happens. */
  readonly isVerbose?: boolean;
  /** Things that happen before there is peace. */
  readonly length?: number;
}

export interface SimReport {
  readonly seed: number;
  readonly steps: number;
  /** Simulated. */
  readonly spanMs: number;
  readonly fingerprint: number;
  /** What happened, by its name. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A failure with all that is needed to look at it. */
export class SimRunError extends Error {
  readonly seed: number;
  readonly failure: SimFailure;

  constructor(seed: number, failure: SimFailure, trace: readonly string[]) {
    super(
      `seed ${seed}, step ${failure.step}: ${failure.message}\n` +
        `the last events:\n  ${trace.join("\n  ")}`,
    );
    this.name = "SimRunError";
    this.seed = seed;
    this.failure = failure;
  }
}

const PEACE_MS = 15 * 60_000;

/** After which a connection that is dead is known to be, twice. */
const PRESENCE_MS = 150_000;

export class Simulation {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly sent: SentUploads;
  readonly tap: WireTap;
  readonly server: SimServer;
  readonly network: SimNetwork;
  readonly writes = new LocalWrites();
  readonly runs: SimRuns;
  readonly presence: SimPresence;
  readonly peers: SimPeer[] = [];
  readonly counts = new Map<string, number>();
  backup: Backup | undefined;
  /** What direct writers have added to the tallies. */
  readonly directSums = new Map<string, { readonly id: string; readonly by: number }>();
  isPeace = false;
  #copies = 0;

  constructor(seed: number, isVerbose: boolean) {
    this.seed = seed;
    const scheduler = new Scheduler(seededRandom(seed), isVerbose);
    this.scheduler = scheduler;
    this.sent = new SentUploads(scheduler);
    this.tap = tapOf(this);
    this.server = new SimServer(scheduler, seed * 31 + 1, { sent: this.sent, tap: this.tap });
    this.server.node.onPowerLoss = () => this.crashServer();
    this.network = new SimNetwork(scheduler, this.server);
    this.runs = new SimRuns(this);
    this.presence = new SimPresence(this);
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  addPeer(name: string, credential = this.scheduler.random.pick(this.server.credentials)): SimPeer {
    const { scheduler, network, server, tap, runs } = this;
    const seed = this.seed * 131 + this.peers.length + 7;
    const peer = new SimPeer(name, credential, seed, { scheduler, network, server, tap, runs });
    peer.node.onPowerLoss = () => this.crashPeer(peer);
    this.peers.push(peer);
    return peer;
  }

  startServer(): void {
    void this.#guard(this.server.start());
  }

  startPeer(peer: SimPeer): void {
    void this.#guard(peer.start());
  }

  /** What the harness itself awaits must not fail. */
  async #guard(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? "") : String(error);
      this.scheduler.fail("a store can be opened", text);
    }
  }

  run(work: Promise<void>): void {
    void this.#guard(work);
  }

  crashServer(): void {
    if (!this.server.isUp) return;
    this.count("server crash");
    this.server.crash();
    for (const connection of this.network.connections) this.#loseSide(connection, "server");
    this.#later(this.scheduler.between(20, 8000), () => this.startServer());
  }

  crashPeer(peer: SimPeer): void {
    if (!peer.isUp) return;
    this.count("peer crash");
    peer.crash();
    for (const connection of this.network.of(peer.name)) this.#loseSide(connection, "client");
    this.#later(this.scheduler.between(20, 20_000), () => this.startPeer(peer));
  }

  /** The other side hears of it, or does not. */
  #loseSide(connection: { cut(kind: "client" | "server" | "nobody"): void }, side: string): void {
    const other = side === "server" ? "client" : "server";
    connection.cut(this.scheduler.random.chance(0.7) ? other : "nobody");
  }

  /** What is planned happens also in peace: whoever is down comes back. */
  #later(delayMs: number, work: () => void): void {
    this.scheduler.after(this.isPeace ? Math.min(delayMs, 500) : delayMs, work);
  }

  later(delayMs: number, work: () => void): void {
    this.#later(delayMs, work);
  }

  nextCopyName(peer: SimPeer): string {
    return `${peer.name.split("'")[0]}'${++this.#copies}`;
  }

  async play(length: number): Promise<void> {
    await this.#begin();
    await drawEvents(this, length);
    await this.#settle();
    checkAtEnd(this);
    await settled();
    if (this.scheduler.failure !== undefined) throw this.scheduler.failure;
  }

  async #begin(): Promise<void> {
    const { scheduler, server } = this;
    this.startServer();
    await scheduler.runUntil(() => server.isUp, 10_000);
    for (const statement of tallyInserts()) void server.write(statement, undefined);
    if (scheduler.random.chance(0.5)) {
      for (const statement of stillInserts(scheduler.random)) {
        void server.write(statement, undefined);
      }
    }
    if (scheduler.random.chance(0.5)) {
      const statement = "CREATE INDEX by_owner ON notes (owner)";
      void server.write({ statement, args: {} }, undefined);
    }
    await scheduler.runFor(200);
    const count = 3 + scheduler.random.below(4);
    for (let i = 0; i < count; i++) {
      const peer = this.addPeer(`p${i}`);
      peer.follow(TALLY_WISH);
      peer.device.setWatching(scheduler.random.chance(0.5));
      const wishes = scheduler.random.below(3);
      for (let j = 0; j < wishes; j++) peer.follow(randomWish(scheduler.random));
      this.later(scheduler.between(0, 3000), () => this.startPeer(peer));
    }
    await scheduler.runFor(1500);
  }

  async #settle(): Promise<void> {
    const { scheduler, server, network } = this;
    scheduler.note("world", "peace");
    this.isPeace = true;
    for (const credential of server.credentials) server.setRevoked(credential, false);
    for (const connection of network.connections) {
      connection.up.rate = connection.down.rate = 400;
    }
    for (const peer of this.peers) {
      network.heal(peer.name);
      peer.node.writesToCrash = undefined;
      peer.onPiece = undefined;
      peer.node.disk.failNextWrite(undefined);
    }
    server.node.writesToCrash = undefined;
    // Whoever is just writing, finishes it first.
    await scheduler.runFor(1000);
    for (const peer of this.peers) {
      if (peer.hasEvicted) peer.followAgain();
      peer.setSync(true);
    }
    if (!(await this.#untilSettled())) return;
    await this.#settleDevices();
    let expired: number;
    do {
      if (!(await this.#untilSettled())) return;
      expired = this.tap.expired;
      // What is still on its way changes nothing any more.
      await scheduler.runFor(2000);
      // But a token whose welcome came late may end before it is renewed (S7).
    } while (this.tap.expired > expired);
  }

  async #untilSettled(): Promise<boolean> {
    const { scheduler } = this;
    let nextLook = 0;
    const isDone = (): boolean => {
      if (scheduler.now < nextLook) return false;
      nextLook = scheduler.now + 250;
      return isSettled(this) === undefined;
    };
    const isInTime = await scheduler.runUntil(isDone, scheduler.now + PEACE_MS);
    if (!isInTime) scheduler.fail("everyone settles", isSettled(this) ?? "");
    return isInTime;
  }

  /** Who went without a word is found to be gone; then everyone knows who is there, and answers. */
  async #settleDevices(): Promise<void> {
    await this.#settlePresence();
    await this.runs.startLast();
    await this.#settlePresence();
  }

  async #settlePresence(): Promise<void> {
    const { scheduler, presence } = this;
    let nextLook = 0;
    const isExact = (): boolean => {
      if (scheduler.now < nextLook) return false;
      nextLook = scheduler.now + 250;
      return presence.fault() === undefined;
    };
    await scheduler.runUntil(isExact, scheduler.now + PRESENCE_MS);
    const fault = presence.fault();
    if (fault !== undefined) scheduler.fail(fault.invariant, fault.detail);
  }
}

export async function simulate(seed: number, options: SimOptions = {}): Promise<SimReport> {
  const simulation = new Simulation(seed, options.isVerbose === true);
  const { scheduler } = simulation;
  const onRejection = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scheduler.fail("no promise is left to itself", text);
  };
  process.on("unhandledRejection", onRejection);
  try {
    const { random } = scheduler;
    await simulation.play(options.length ?? random.pick([60, 100, 100, 200]));
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimRunError(seed, error, scheduler.trace);
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  for (const [name, count] of simulation.tap.counts)
    simulation.counts.set(`message ${name}`, count);
  const { steps, now, fingerprint } = scheduler;
  return { seed, steps, spanMs: now, fingerprint, counts: simulation.counts };
}
