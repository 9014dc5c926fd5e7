/**
 * A run: a world, and what a seed lets happen to it; then peace, until everyone has settled; then
 * what must hold is checked.
 */

import { checkAtEnd, isSettled } from "./end-check.ts";
import { type Scheduler, SimFailure, settled } from "./scheduler.ts";
import { type DrawnKinds, drawEvents } from "./sim-events.ts";
import { type PresenceFault, SimPresence } from "./sim-presence.ts";
import { randomWish, TALLY_WISH } from "./sim-rules.ts";
import { stillInserts, tallyInserts } from "./sim-statements.ts";
import { SimWorld } from "./sim-world.ts";

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

/** A simulation that is played. */
export interface Played {
  readonly scheduler: Scheduler;
  /** What happened, by its name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Things that happen before there is peace. */
  readonly length: number;
  /** The option of `npm run sim` that chooses this kind of simulation. */
  readonly flag?: string;
  play(): Promise<void>;
}

/** A failure with all that is needed to look at it. */
export class SimRunError extends Error {
  readonly seed: number;
  readonly failure: SimFailure;

  constructor(seed: number, failure: SimFailure, { scheduler, flag, length }: Played) {
    const options = [...(flag ? [flag] : []), `--seed ${seed} --length ${length}`, "--verbose"];
    super(
      `seed ${seed}, step ${failure.step}: ${failure.message}\n` +
        `replay: npm run sim -- ${options.join(" ")}\n` +
        `the last events:\n  ${scheduler.trace.join("\n  ")}`,
    );
    this.name = "SimRunError";
    this.seed = seed;
    this.failure = failure;
  }
}

interface SimulationParts {
  readonly length?: number | undefined;
  readonly kinds?: DrawnKinds;
  readonly flag?: string;
}

const PEACE_MS = 15 * 60_000;

/** After which a connection that is dead is known to be, twice. */
const PRESENCE_MS = 150_000;

export class Simulation implements Played {
  readonly world: SimWorld;
  readonly scheduler: Scheduler;
  readonly length: number;
  readonly flag?: string;
  readonly #presences: readonly SimPresence[];
  readonly #kinds: DrawnKinds | undefined;

  constructor(world: SimWorld, { length, kinds, flag }: SimulationParts = {}) {
    this.world = world;
    this.scheduler = world.scheduler;
    // Drawn also when it is given: so a run can be replayed with its length.
    const drawn = this.scheduler.random.pick([60, 100, 100, 200]);
    this.length = length ?? drawn;
    this.#kinds = kinds;
    if (flag !== undefined) this.flag = flag;
    this.#presences = world.server.machines.map((machine) => new SimPresence(world, machine));
  }

  get counts(): ReadonlyMap<string, number> {
    const { counts, tap } = this.world;
    return new Map([...counts, ...prefixed("message", tap.counts)]);
  }

  async play(): Promise<void> {
    await this.#begin();
    await drawEvents(this.world, this.length, this.#kinds);
    await this.#settle();
    checkAtEnd(this.world);
    this.world.contents?.checkAtEnd();
    await settled();
    if (this.scheduler.failure !== undefined) throw this.scheduler.failure;
  }

  async #begin(): Promise<void> {
    const { world, scheduler } = this;
    const { server } = world;
    for (const machine of server.machines) world.startMachine(machine);
    await scheduler.runUntil(() => server.unsettled() === undefined, 10_000);
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
      const peer = world.addPeer(`p${i}`);
      peer.follow(TALLY_WISH);
      peer.device.setWatching(scheduler.random.chance(0.5));
      const wishes = scheduler.random.below(3);
      for (let j = 0; j < wishes; j++) peer.follow(randomWish(scheduler.random));
      world.later(scheduler.between(0, 3000), () => world.startPeer(peer));
    }
    await scheduler.runFor(1500);
  }

  async #settle(): Promise<void> {
    const { world, scheduler } = this;
    const { server, network, peers } = world;
    scheduler.note("world", "peace");
    world.isPeace = true;
    for (const credential of server.credentials) server.setRevoked(credential, false);
    for (const connection of network.connections) {
      connection.up.rate = connection.down.rate = 400;
    }
    for (const peer of peers) {
      network.heal(peer.name);
      peer.node.writesToCrash = undefined;
      peer.onPiece = undefined;
      peer.mendStorage();
    }
    server.setPeace();
    // Whoever is just writing, finishes it first.
    await scheduler.runFor(1000);
    for (const peer of peers) {
      if (peer.hasEvicted) peer.followAgain();
      peer.setSync(true);
    }
    if (!(await this.#untilSettled())) return;
    await this.#settleDevices();
    let expired: number;
    do {
      if (!(await this.#untilSettled())) return;
      expired = world.tap.expired;
      // What is still on its way changes nothing any more.
      await scheduler.runFor(2000);
      // But a token whose welcome came late may end before it is renewed (S7).
    } while (world.tap.expired > expired);
  }

  async #untilSettled(): Promise<boolean> {
    const { scheduler } = this;
    let nextLook = 0;
    const isDone = (): boolean => {
      if (scheduler.now < nextLook) return false;
      nextLook = scheduler.now + 250;
      return isSettled(this.world) === undefined;
    };
    const isInTime = await scheduler.runUntil(isDone, scheduler.now + PEACE_MS);
    if (!isInTime) scheduler.fail("everyone settles", isSettled(this.world) ?? "");
    return isInTime;
  }

  /** Who went without a word is found to be gone; then everyone knows who is there, and answers. */
  async #settleDevices(): Promise<void> {
    await this.#settlePresence();
    await this.world.runs.startLast();
    await this.#settlePresence();
  }

  async #settlePresence(): Promise<void> {
    const { scheduler } = this;
    let nextLook = 0;
    const isExact = (): boolean => {
      if (scheduler.now < nextLook) return false;
      nextLook = scheduler.now + 250;
      return this.#presenceFault() === undefined;
    };
    await scheduler.runUntil(isExact, scheduler.now + PRESENCE_MS);
    const fault = this.#presenceFault();
    if (fault !== undefined) scheduler.fail(fault.invariant, fault.detail);
  }

  #presenceFault(): PresenceFault | undefined {
    for (const presence of this.#presences) {
      const fault = presence.fault();
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
}

/** Plays a simulation to its end. Rejects with a SimRunError if something did not hold. */
export async function playSeed(seed: number, simulation: Played): Promise<SimReport> {
  const { scheduler } = simulation;
  const onRejection = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    scheduler.fail("no promise is left to itself", text);
  };
  process.on("unhandledRejection", onRejection);
  try {
    await simulation.play();
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimRunError(seed, error, simulation);
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  const { steps, now, fingerprint } = scheduler;
  return { seed, steps, spanMs: now, fingerprint, counts: simulation.counts };
}

/** Counts of one kind, for a report. */
export function* prefixed(
  prefix: string,
  counts: ReadonlyMap<string, number>,
): Iterable<[string, number]> {
  for (const [name, count] of counts) yield [`${prefix} ${name}`, count];
}

export function simulate(seed: number, { isVerbose, length }: SimOptions = {}): Promise<SimReport> {
  const world = new SimWorld(seed, isVerbose === true);
  return playSeed(seed, new Simulation(world, { length }));
}
