/**
 * A server of a run that is a cluster: three nodes over one simulated log. Peers connect to any of
 * them, and the oracle follows the log, whatever the nodes have of it.
 */

import type { MemoryDisk, WriteFailure } from "../../src/store/memory-disk.ts";
import type { SyncLimits } from "../../src/sync/sync-server.ts";
import { SimulatedLog } from "../support/simulated-log.ts";
import { type Random, seededRandom } from "../support/test-platform.ts";
import { ClusterNode } from "./cluster-node.ts";
import type { Credential } from "./credential.ts";
import { LogHistory } from "./log-history.ts";
import type { Scheduler } from "./scheduler.ts";
import { ServerOracle } from "./server-oracle.ts";
import type { Accepting, End } from "./sim-network.ts";
import {
  randomSettings,
  type ServerParts,
  type ServerSettings,
  type Session,
  type SimBackend,
  type SimServer,
} from "./sim-server.ts";
import type { SimStatement } from "./sim-statements.ts";

const NODES = 3;

export class ClusterServer implements SimBackend {
  readonly log: SimulatedLog;
  readonly nodes: readonly ClusterNode[];
  readonly machines: readonly SimServer[];
  readonly oracle: ServerOracle;
  readonly restores = 0;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #settings: ServerSettings;
  readonly #history: LogHistory;
  #lastSession = 0;

  constructor(scheduler: Scheduler, seed: number, { sent, tap }: ServerParts) {
    const random = seededRandom(seed);
    this.#scheduler = scheduler;
    this.#random = random;
    this.#settings = randomSettings(random, false);
    this.oracle = new ServerOracle(scheduler, sent);
    this.#history = new LogHistory(scheduler);
    const faults = {
      lost: random.pick([0, 0.02, 0.15]),
      forgotten: random.pick([0, 0.1]),
      broken: random.pick([0, 0.02]),
    };
    this.log = new SimulatedLog(random, faults, () => this.#pause());
    this.log.onAppended = (entry) => {
      void this.#history.take(entry).then(() => this.oracle.catchUp(this.disk));
    };
    const parts = {
      scheduler,
      sent,
      tap,
      settings: this.#settings,
      oracle: this.oracle,
      disk: this.disk,
      log: this.log,
      nodes: () => this.nodes,
      nextSession: () => ++this.#lastSession,
    };
    this.nodes = Array.from({ length: NODES }, (_, i) => {
      return new ClusterNode(i, seed * 7 + i, parts);
    });
    this.machines = this.nodes.map(({ machine }) => machine);
  }

  get disk(): MemoryDisk {
    return this.#history.disk;
  }

  get credentials(): readonly Credential[] {
    return this.#settings.credentials;
  }

  get limits(): Partial<SyncLimits> {
    return this.#settings.limits;
  }

  get sessions(): readonly Session[] {
    return this.machines.flatMap(({ sessions }) => sessions);
  }

  note(what: string): void {
    this.#scheduler.note("cluster", what);
  }

  /** By a node that is there: who dials another is refused, and dials again. */
  accept(end: End, dialler: string): ReturnType<Accepting["accept"]> {
    return this.#random.pick(this.machines).accept(end, dialler);
  }

  /** Of the node whose clock is the latest: so no node takes it for one that has expired. */
  newToken(credential: Credential): string {
    return this.#latest().newToken(credential);
  }

  changeRights(credential: Credential): void {
    const [first, ...others] = this.machines;
    first?.changeRights(credential);
    for (const machine of others) machine.sendRights(credential);
  }

  setRevoked(credential: Credential, isRevoked: boolean): void {
    const [first, ...others] = this.machines;
    first?.setRevoked(credential, isRevoked);
    if (isRevoked) for (const machine of others) machine.sendRights(credential);
  }

  async write(statement: SimStatement, credential: Credential | undefined): Promise<boolean> {
    return (await this.#evaluating()?.machine.write(statement, credential)) ?? false;
  }

  async maintain(): Promise<void> {
    await this.#evaluating()?.machine.maintain();
  }

  failNextWrite(code: WriteFailure): void {
    this.#random.pick(this.nodes).failNextWrite(code);
  }

  setPeace(): void {
    this.setLogDown(false);
    for (const node of this.nodes) node.wake();
  }

  /** Without a leader nobody reaches the log, and tails end. */
  setLogDown(isDown: boolean): void {
    this.note(isDown ? "the log has no leader" : "the log has a leader");
    this.log.isDown = isDown;
    this.log.breakTails();
  }

  unsettled(): string | undefined {
    const end = this.log.entries.at(-1)?.sequence ?? 0;
    for (const { name, replica, machine, isCut } of this.nodes) {
      if (!machine.isUp || isCut) return `${name} is down`;
      if (replica?.position.sequence !== end) return `${name} is not at the end of the log`;
    }
    const evaluating = this.nodes.filter(({ replica }) => replica?.role === "evaluating");
    return evaluating.length === 1 ? undefined : `${evaluating.length} nodes evaluate`;
  }

  checkAtEnd(): void {
    this.oracle.check(this.disk);
    for (const node of this.nodes) {
      const difference = node.difference();
      if (difference === undefined) continue;
      this.#scheduler.fail("all stores are equal", `${node.name}: ${difference}`);
    }
  }

  /** One that evaluates, or believes so. */
  #evaluating(): ClusterNode | undefined {
    const found = this.nodes.filter(({ replica }) => replica?.role === "evaluating");
    return found.length === 0 ? undefined : this.#random.pick(found);
  }

  #latest(): SimServer {
    return this.machines.reduce((a, b) => (a.node.nowMs > b.node.nowMs ? a : b));
  }

  /** The log takes a moment, and now and then much longer. */
  #pause(): Promise<void> {
    const scheduler = this.#scheduler;
    const isSlow = this.#random.chance(0.02);
    return new Promise((resolve) => {
      scheduler.after(isSlow ? scheduler.between(5, 800) : scheduler.between(0.1, 2), resolve);
    });
  }
}
