/**
 * A node of a simulated cluster: a server whose store is a replica of the log, on a disk that is
 * written now and then. It calls the other nodes as the nodes of a real cluster do: it asks the
 * evaluating one before it welcomes a peer, and sends it the uploads of its peers.
 */

import { isDeepStrictEqual } from "node:util";
import { PeerError } from "@bigpeer/protocol";
import { Replica, type ReplicaRole } from "../../src/cluster/replica.ts";
import type { SharedLog } from "../../src/cluster/shared-log.ts";
import { type RelayedAnswer, relayedAnswers, UploadRelay } from "../../src/cluster/upload-relay.ts";
import type { Platform } from "../../src/platform.ts";
import { uploadChecker } from "../../src/query/mutate/checked-upload.ts";
import type { MemoryDisk, WriteFailure } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store, StoreOptions } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import type { UploadAnswer } from "../../src/store/upload.ts";
import type { SessionUpload } from "../../src/sync/connection/connection-host.ts";
import { MemoryReplicaStorage, type ReplicaDisk } from "../support/memory-replica-storage.ts";
import { dump } from "../support/open-store.ts";
import { StoppableLog } from "../support/simulated-log.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ServerOracle } from "./server-oracle.ts";
import type { Life } from "./sim-node.ts";
import {
  APP_ID,
  type NodeHost,
  type ServerParts,
  type ServerSettings,
  SimServer,
} from "./sim-server.ts";

/** What the nodes share. */
export interface ClusterParts {
  readonly scheduler: Scheduler;
  readonly settings: ServerSettings;
  readonly oracle: ServerOracle;
  readonly disk: MemoryDisk;
  readonly log: SharedLog;
  readonly nodes: () => readonly ClusterNode[];
  readonly nextSession: () => number;
}

/** A replica in a process that lives. */
interface Opened {
  readonly life: Life;
  readonly platform: Platform;
  readonly storage: MemoryReplicaStorage;
  readonly replica: Replica;
  readonly relay: UploadRelay<SessionUpload>;
}

const EMPTY_DISK: ReplicaDisk = { content: new Map(), position: undefined };

/** As a real node: how long a caller waits for one that evaluates, and a peer for its node. */
const EVALUATOR_MS_MAX = 10_000;
const CATCH_UP_MS_MAX = 5_000;
const POLL_MS = 20;
const REPLACED_MS = 250;

/** How long the evaluating node is missed before the first of the others tries; the next is later. */
const LEASE_MS = 3_000;
const RANK_MS = 700;

export class ClusterNode implements NodeHost {
  readonly machine: SimServer;
  readonly #parts: ClusterParts;
  readonly #rank: number;
  /** It outlives the processes. */
  #disk = EMPTY_DISK;
  #opened: Opened | undefined;
  /** The log as this process reaches it, and what it follows of it. */
  #log: StoppableLog;
  #tail: StoppableLog;
  #wakes: (() => void)[] = [];
  /** Neither the log nor another node is reached. */
  isCut = false;
  #isTrying = false;
  #vacantMs: number | undefined;

  constructor(rank: number, seed: number, parts: ClusterParts & Pick<ServerParts, "sent" | "tap">) {
    const { scheduler, sent, tap } = parts;
    this.#parts = parts;
    this.#rank = rank;
    this.#log = new StoppableLog(parts.log);
    this.#tail = new StoppableLog(this.#log);
    this.machine = new SimServer(scheduler, seed, { sent, tap, name: `n${rank}`, cluster: this });
  }

  get name(): string {
    return this.machine.node.name;
  }

  get settings(): ServerSettings {
    return this.#parts.settings;
  }

  get oracle(): ServerOracle {
    return this.#parts.oracle;
  }

  get disk(): MemoryDisk {
    return this.#parts.disk;
  }

  nextSession(): number {
    return this.#parts.nextSession();
  }

  /** Undefined while no process has a replica. */
  get replica(): Replica | undefined {
    return this.#opened?.replica;
  }

  /** The last entry of the log that is on its disk. */
  get durableSequence(): number {
    return this.#disk.position?.sequence ?? 0;
  }

  get isReachable(): boolean {
    return this.#opened !== undefined && !this.isCut;
  }

  async open(platform: Platform, options: StoreOptions): Promise<Store> {
    const { life } = this.machine.node;
    const { log } = this.#parts;
    this.#log = new StoppableLog(log);
    this.#tail = new StoppableLog(this.#log);
    const [direct, tail] = [this.#log, this.#tail];
    const host = {
      log: {
        append: direct.append.bind(direct),
        next: direct.next.bind(direct),
        end: direct.end.bind(direct),
        trim: direct.trim.bind(direct),
        follow: tail.follow.bind(tail),
      },
      platform,
      node: this.name,
      options,
      comparedEvery: 1,
      mayBegin: true,
      wait: (attempt: number) => sleep(life, Math.min(1000, POLL_MS * 2 ** attempt)),
      onRole: (role: ReplicaRole) => this.#roleChanged(role, life),
    };
    for (let attempt = 1; ; attempt++) {
      const storage = await MemoryReplicaStorage.on(this.#disk);
      try {
        const replica = await Replica.open({ ...host, storage });
        const { store } = replica;
        const relay = new UploadRelay<SessionUpload>({
          store,
          relay: (uploads) => {
            const isOpen = (): boolean => uploads.some((upload) => upload.isOpen());
            return this.#atEvaluator((node) => node.#evaluate(uploads), isOpen);
          },
          reached: (txnId) => store.whenReached(txnId).promise,
        });
        this.#opened = { life, platform, storage, replica, relay };
        this.#persistEvery(life, storage);
        this.#electEvery(life);
        return store;
      } catch (error) {
        if (error instanceof PeerError) this.#reopen(error);
        await host.wait(attempt);
      }
    }
  }

  /** The log was reached, and no longer has what the disk lacks. */
  #reopen(error: PeerError): void {
    if (error.code !== "store.foreign") this.#fail(error);
    const other = this.#parts.nodes().find((node) => node !== this && node.isReachable);
    this.machine.note(`begins with a copy of ${other?.name ?? "nobody"}`);
    this.#disk = other?.copy() ?? EMPTY_DISK;
  }

  copy(): ReplicaDisk {
    return this.#use().storage.disk();
  }

  /** In order: what was accepted is answered, and is on the disk. */
  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    await opened.replica.close();
    if (opened.life.isAlive) this.#disk = opened.storage.disk();
  }

  crash(): void {
    // What it has sent may still arrive, and nothing else.
    this.#log.stop();
    this.#wakes = [];
    this.#opened = undefined;
    this.isCut = false;
    this.#isTrying = false;
    this.#vacantMs = undefined;
  }

  /** Its disk is lost; the process must be dead. */
  loseDisk(): void {
    this.machine.note("has lost its disk");
    this.#disk = EMPTY_DISK;
  }

  /** It reaches nothing, and goes on later as if nothing had happened. */
  cut(ms: number): void {
    this.machine.note(`is cut off for ${ms.toFixed()} ms`);
    const { up, down } = this.#pipes();
    const isStopped = this.machine.node.random.chance(0.5);
    if (isStopped) for (const pipe of [...up, ...down]) pipe.hold();
    const wake = this.#log.stop();
    this.isCut = true;
    this.#wakeAfter(ms, () => {
      wake();
      this.isCut = false;
      if (isStopped) for (const pipe of [...up, ...down]) pipe.release();
    });
  }

  /** It gets no entries, but reaches everyone. */
  lag(ms: number): void {
    this.machine.note(`lags for ${ms.toFixed()} ms`);
    this.#wakeAfter(ms, this.#tail.stop());
  }

  /** Ends what was to end later. */
  wake(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }

  #wakeAfter(ms: number, wake: () => void): void {
    this.#wakes.push(wake);
    this.machine.node.life.after(ms, wake);
  }

  #pipes() {
    const connections = this.machine.sessions.map(({ end }) => end.connection);
    return { up: connections.map(({ up }) => up), down: connections.map(({ down }) => down) };
  }

  failNextWrite(code: WriteFailure): void {
    if (this.#opened === undefined) return;
    this.machine.note("will fail to write");
    this.#opened.storage.failure = new PeerError(code, "failed to write: the disk was set to fail");
  }

  /** Why its store is not what the log makes of it; undefined when it is. */
  difference(): string | undefined {
    if (this.#opened === undefined) return "it is down";
    const { storage, replica } = this.#opened;
    const [found, expected] = [storage.disk().content, dump(new MemoryKeyValue(this.disk))];
    if (isDeepStrictEqual(found, expected)) return undefined;
    const keys = [...found.keys(), ...expected.keys()].filter((key) => {
      return !isDeepStrictEqual(found.get(key), expected.get(key));
    });
    return `at ${replica.position.sequence} it differs in ${keys.join(" ").slice(0, 200)}`;
  }

  #roleChanged(role: ReplicaRole, life: Life): void {
    if (!life.isAlive) return;
    this.machine.note(`is ${role}`);
    if (role !== "failed") return;
    const { failure } = this.replica ?? {};
    const isOfDisk = failure instanceof PeerError && /full|write_failed/.test(failure.code);
    if (!isOfDisk) this.#fail(failure);
    // The server closes the app, and opens it again.
    life.after(0, () => this.machine.node.onPowerLoss?.());
  }

  #fail(failure: unknown): void {
    this.#parts.scheduler.fail("every node follows the log", String(failure));
  }

  #persistEvery(life: Life, storage: MemoryReplicaStorage): void {
    life.after(50 + this.machine.node.random.below(3000), () => {
      this.#disk = storage.disk();
      this.#persistEvery(life, storage);
    });
  }

  // Elections.

  #electEvery(life: Life): void {
    life.after(50 + this.machine.node.random.below(200), () => {
      if (this.#isTurn()) void this.#elect();
      this.#electEvery(life);
    });
  }

  async #elect(): Promise<void> {
    this.#isTrying = true;
    await this.replica?.evaluate(() => this.#isTurn(true)).catch(() => false);
    this.#isTrying = false;
    this.#vacantMs = undefined;
  }

  #isTurn(isTrying = false): boolean {
    const { replica } = this;
    if (replica?.role !== "following" || this.isCut || this.#isTrying !== isTrying) return false;
    if (replica.evaluator === this.name) return true;
    const { scheduler, nodes } = this.#parts;
    if (nodes().some((node) => node.name === replica.evaluator && node.isReachable)) {
      this.#vacantMs = undefined;
      return false;
    }
    this.#vacantMs ??= scheduler.now;
    return scheduler.now - this.#vacantMs >= LEASE_MS + this.#rank * RANK_MS;
  }

  // Calls from node to node.

  async catchUp(): Promise<void> {
    const { replica, life } = this.#use();
    const { sequence } = await this.#atEvaluator(async (node) => node.#use().replica.confirm());
    const wait = replica.whenReached(sequence);
    life.after(CATCH_UP_MS_MAX, () => wait.cancel());
    if (!(await wait.promise)) throw busy("this node has not caught up with the cluster yet");
  }

  upload(asked: SessionUpload): Promise<UploadAnswer> {
    return this.#use().relay.upload(asked);
  }

  /** The credential is judged here. */
  async #evaluate(uploads: readonly SessionUpload[]): Promise<readonly RelayedAnswer[]> {
    const { replica, platform } = this.#use();
    const credential = uploads.at(-1)?.credential ?? "";
    const found = this.settings.credentials.find(({ name }) => name === credential);
    if (found === undefined || found.isRevoked) {
      throw new PeerError("permission.denied", "the credential is not known, or has expired");
    }
    const authority = (): typeof found.authority => found.authority;
    const check = uploadChecker({ platform, appId: APP_ID, authority });
    const applied = uploads.map(({ upload }) =>
      takeUpload(replica.store, upload, check, { owner: credential }),
    );
    return relayedAnswers(applied);
  }

  /** Calls the node that evaluates, whoever that is at the moment. Rejects with `store.busy`. */
  async #atEvaluator<T>(
    work: (node: ClusterNode) => Promise<T>,
    isWanted = (): boolean => true,
  ): Promise<T> {
    const { scheduler } = this.#parts;
    const { life } = this.#use();
    const endMs = scheduler.now + EVALUATOR_MS_MAX;
    while (scheduler.now < endMs) {
      if (!isWanted()) throw new PeerError("store.closed", "the session is over");
      const node = this.#evaluator();
      const answer = node && (await this.#call(life, node, work));
      if (answer !== undefined) return answer.value;
      await sleep(life, POLL_MS);
    }
    throw busy("no node of the cluster evaluates writes now");
  }

  /** As far as it is known here, and if it is alive. */
  #evaluator(): ClusterNode | undefined {
    const { replica } = this;
    if (replica?.role === "evaluating") return this;
    if (this.isCut) return undefined;
    return this.#parts.nodes().find((node) => {
      return node.name === replica?.evaluator && node.isReachable;
    });
  }

  /** Undefined if the node was not reached or no longer evaluates, or its answer was lost. */
  #call<T>(
    life: Life,
    node: ClusterNode,
    work: (node: ClusterNode) => Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const { random } = this.machine.node;
    const hop = (then: () => void): void => void life.after(this.#hopMs(), then);
    return new Promise((resolve, reject) => {
      hop(() => {
        if (!node.isReachable && node !== this) return resolve(undefined);
        work(node).then(
          (value) => hop(() => resolve(random.chance(0.02) ? undefined : { value })),
          (error: unknown) => hop(() => (isElsewhere(error) ? resolve(undefined) : reject(error))),
        );
      });
      const look = (): void => {
        if (this.#evaluator() === node) life.after(REPLACED_MS, look);
        else resolve(undefined);
      };
      life.after(REPLACED_MS, look);
    });
  }

  #hopMs(): number {
    const { random } = this.machine.node;
    return (random.below(1000) / 1000) * (random.chance(0.05) ? 300 : 2);
  }

  #use(): Opened {
    if (this.#opened === undefined) throw elsewhere();
    return this.#opened;
  }
}

function sleep(life: Life, ms: number): Promise<void> {
  return new Promise((resolve) => {
    life.after(ms, resolve);
  });
}

function isElsewhere(error: unknown): boolean {
  return error instanceof PeerError && error.code === "cluster.elsewhere";
}

function elsewhere(): PeerError {
  return new PeerError("cluster.elsewhere", "this node is not open");
}

function busy(message: string): PeerError {
  return new PeerError("store.busy", message);
}
