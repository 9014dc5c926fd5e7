/**
 * SimWorld: the server of a run, its peers and the network between them, and what can be done to
 * them: peers are added, processes start, crash and come back.
 */

import { seededRandom } from "../support/test-platform.ts";
import { LocalWrites } from "./local-writes.ts";
import { Scheduler } from "./scheduler.ts";
import { SentUploads } from "./sent-uploads.ts";
import { SimContents } from "./sim-contents.ts";
import { SimNetwork } from "./sim-network.ts";
import type { NewMedium } from "./sim-node.ts";
import { SimPeer } from "./sim-peer.ts";
import { SimRuns } from "./sim-runs.ts";
import { type Backup, type SimBackend, SimServer } from "./sim-server.ts";
import type { WireTap } from "./wire-tap.ts";
import { tapOf, type World } from "./world.ts";

type NewServer = (...args: ConstructorParameters<typeof SimServer>) => SimBackend;

export interface WorldParts {
  readonly newServer?: NewServer;
  /** What peers keep their data on; left out, it is the disk of their machine. */
  readonly newMedium?: NewMedium | undefined;
  /** Whether peers have attachments. */
  readonly hasContents?: boolean;
}

const newMachine: NewServer = (...args) => new SimServer(...args);

export class SimWorld implements World {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly sent: SentUploads;
  readonly tap: WireTap;
  readonly server: SimBackend;
  readonly network: SimNetwork;
  readonly writes = new LocalWrites();
  readonly runs: SimRuns;
  readonly contents: SimContents | undefined;
  readonly peers: SimPeer[] = [];
  readonly counts = new Map<string, number>();
  backup: Backup | undefined;
  /** What direct writers have added to the tallies. */
  readonly directSums = new Map<string, { readonly id: string; readonly by: number }>();
  isPeace = false;
  readonly #newMedium: NewMedium | undefined;
  #copies = 0;

  /** Left out, `newServer` makes a server of one machine. */
  constructor(
    seed: number,
    isVerbose: boolean,
    { newServer = newMachine, newMedium, hasContents = false }: WorldParts = {},
  ) {
    this.seed = seed;
    this.#newMedium = newMedium;
    const scheduler = new Scheduler(seededRandom(seed), isVerbose);
    this.scheduler = scheduler;
    this.sent = new SentUploads(scheduler);
    this.tap = tapOf(this);
    this.server = newServer(scheduler, seed * 31 + 1, { sent: this.sent, tap: this.tap });
    for (const machine of this.server.machines) {
      machine.node.onPowerLoss = () => this.crashMachine(machine);
    }
    this.network = new SimNetwork(scheduler, this.server);
    this.runs = new SimRuns(this);
    if (hasContents) {
      this.contents = new SimContents({
        scheduler,
        network: () => this.network,
        server: () => this.server,
        isPeace: () => this.isPeace,
        count: (name) => this.count(name),
      });
    }
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  addPeer(name: string, credential = this.scheduler.random.pick(this.server.credentials)): SimPeer {
    const { scheduler, network, server, tap, runs } = this;
    const seed = this.seed * 131 + this.peers.length + 7;
    const count = (what: string): void => this.count(what);
    const newMedium = this.#newMedium;
    const { contents } = this;
    const parts = { scheduler, network, server, tap, runs, count, newMedium, contents };
    const peer = new SimPeer(name, credential, seed, parts);
    peer.node.onPowerLoss = () => this.crashPeer(peer);
    this.peers.push(peer);
    return peer;
  }

  pickMachine(): SimServer {
    const { machines } = this.server;
    const [only] = machines;
    return machines.length === 1 && only ? only : this.scheduler.random.pick(machines);
  }

  startMachine(machine: SimServer): void {
    this.run(machine.start());
  }

  startPeer(peer: SimPeer): void {
    this.run(peer.start());
  }

  /** What the harness itself awaits must not fail. */
  run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? "") : String(error);
      this.scheduler.fail("a store can be opened", text);
    });
  }

  crashMachine(machine: SimServer): void {
    if (!machine.isUp) return;
    this.count("server crash");
    machine.crash();
    for (const connection of this.network.connections) {
      if (machine.hasAccepted(connection.server)) this.#loseSide(connection, "server");
    }
    this.later(this.scheduler.between(20, 8000), () => this.startMachine(machine));
  }

  crashPeer(peer: SimPeer): void {
    if (!peer.isUp) return;
    this.count("peer crash");
    peer.crash();
    for (const connection of this.network.of(peer.name)) this.#loseSide(connection, "client");
    this.later(this.scheduler.between(20, 20_000), () => this.startPeer(peer));
  }

  /** The other side hears of it, or does not. */
  #loseSide(connection: { cut(kind: "client" | "server" | "neither"): void }, side: string): void {
    const other = side === "server" ? "client" : "server";
    connection.cut(this.scheduler.random.chance(0.7) ? other : "neither");
  }

  /** Planned events also happen at the end of a run, so that peers that are down start again. */
  later(delayMs: number, work: () => void): void {
    this.scheduler.after(this.isPeace ? Math.min(delayMs, 500) : delayMs, work);
  }

  nextCopyName(peer: SimPeer): string {
    return `${peer.name.split("'")[0]}'${++this.#copies}`;
  }
}
