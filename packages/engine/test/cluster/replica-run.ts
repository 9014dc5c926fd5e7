/**
 * A run of several replicas over one simulated log, by a seed: clients write and read, nodes become
 * the evaluating node, step down, stop for a while, and crash. The run notes what was answered, and
 * checks it: nothing acknowledged is lost or done twice, nothing rejected is done, no answer is older
 * than its question, and all stores are equal in the end.
 */

import { isDeepStrictEqual } from "node:util";
import { PeerError, type Value } from "@bigpeer/protocol";
import { Replica } from "../../src/cluster/replica.ts";
import type { Transaction } from "../../src/store/transaction.ts";
import { MemoryReplicaStorage, type ReplicaDisk } from "../support/memory-replica-storage.ts";
import { type LogFaults, SimulatedLog, StoppableLog } from "../support/simulated-log.ts";
import { countedClock, type Random, seededRandom, testPlatform } from "../support/test-platform.ts";

const NODES = 3;
const CLIENTS = 4;
const CALLS = 12;
const EVENTS = 40;

const EMPTY_DISK: ReplicaDisk = { content: new Map(), position: undefined };

/** A fault of the nodes that a run must find. */
export type PlantedFault = "none" | "answers unconfirmed";

export interface ReplicaRunOptions {
  readonly faults: LogFaults;
  readonly planted?: PlantedFault;
}

/** What is known of a call when it ends. */
type Ending = "acknowledged" | "rejected" | "unknown";

interface Call {
  readonly id: number;
  ending: Ending;
}

/** One node: its disk outlives it. */
class RunNode {
  readonly #name: string;
  readonly #shared: SimulatedLog;
  readonly #random: Random;
  #disk = EMPTY_DISK;
  #log: StoppableLog;
  #storage: MemoryReplicaStorage | undefined;
  #onDeath: (() => void)[] = [];
  replica: Replica | undefined;

  constructor(name: string, shared: SimulatedLog, random: Random) {
    this.#name = name;
    this.#shared = shared;
    this.#random = random;
    this.#log = new StoppableLog(shared);
  }

  async start(): Promise<void> {
    const log = new StoppableLog(this.#shared);
    this.#log = log;
    const storage = await MemoryReplicaStorage.on(this.#disk);
    const host = {
      log,
      storage,
      // With the real clock a busy machine, not the seed, would decide how work is sliced.
      platform: Object.assign(testPlatform(this.#random.below(1 << 30)), {
        elapsed: countedClock(),
      }),
      node: this.#name,
      mayBegin: true,
      comparedEvery: 1,
      wait: pause,
    };
    for (;;) {
      try {
        const replica = await Replica.open(host);
        this.#storage = storage;
        this.replica = replica;
        return;
      } catch (error) {
        // The log cannot be reached now.
        if (error instanceof PeerError) throw error;
        await pause();
      }
    }
  }

  get storage(): MemoryReplicaStorage {
    if (this.#storage === undefined) throw new Error("a node that has started");
    return this.#storage;
  }

  /** Brings everything so far to the disk. */
  persist(): void {
    if (this.#storage !== undefined) this.#disk = this.#storage.disk();
  }

  async crash(): Promise<void> {
    this.#log.stop();
    this.replica = undefined;
    for (const listener of this.#onDeath.splice(0)) listener();
    await this.start();
  }

  /** Stops the node for a while; it goes on as if nothing had happened. */
  stop(turns: number): void {
    const wake = this.#log.stop();
    void pauses(turns).then(wake);
  }

  whenDead(): Promise<void> {
    return new Promise((resolve) => this.#onDeath.push(resolve));
  }
}

export class ReplicaRun {
  readonly log: SimulatedLog;
  readonly nodes: readonly RunNode[];
  readonly #random: Random;
  readonly #planted: PlantedFault;
  readonly #calls: Call[] = [];
  readonly #txnIds = new Set<number>();
  #acknowledged = 0;
  #epochs = 0;

  constructor(seed: number, { faults, planted = "none" }: ReplicaRunOptions) {
    this.#random = seededRandom(seed);
    this.#planted = planted;
    this.log = new SimulatedLog(this.#random, faults);
    this.nodes = Array.from({ length: NODES }, (_, i) => {
      return new RunNode(`n${i}`, this.log, this.#random);
    });
  }

  async run(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.start()));
    const clients = Array.from({ length: CLIENTS }, () => this.#client());
    await Promise.all([...clients, this.#events()]);
  }

  /** How much happened: a run in which nothing does finds nothing. */
  get counts(): { acknowledged: number; rejected: number; unknown: number; epochs: number } {
    const count = (ending: Ending): number =>
      this.#calls.filter((call) => call.ending === ending).length;
    return {
      acknowledged: count("acknowledged"),
      rejected: count("rejected"),
      unknown: count("unknown"),
      epochs: this.#epochs,
    };
  }

  /** All nodes follow to the end of the log, and are compared with each other and the answers. */
  async check(): Promise<void> {
    const { replica, sequence } = await this.#confirmed();
    for (const node of this.nodes) {
      const reached = node.replica?.whenReached(sequence).promise.catch((error: unknown) => {
        throw node.replica?.failure ?? error;
      });
      check(await reached, "every node reaches the end of the log");
    }
    const dumps = this.nodes.map(({ storage }) => storage.disk().content);
    for (const each of dumps) check(isDeepStrictEqual(each, dumps[0]), "all stores are equal");
    this.#checkCalls(replica);
    for (const node of this.nodes) await node.replica?.close();
  }

  /** Another node may still become the evaluating one, by an attempt from before. */
  async #confirmed(): Promise<{ replica: Replica; sequence: number }> {
    const [node] = this.nodes;
    for (;;) {
      const replica = node?.replica;
      const position =
        replica !== undefined && (await replica.evaluate())
          ? await replica.confirm().catch(ignoreElsewhere)
          : undefined;
      if (replica !== undefined && position !== undefined) {
        return { replica, sequence: position.sequence };
      }
      await pause();
    }
  }

  #checkCalls({ store }: Replica): void {
    const done = store.read((view) => new Set(view.scanIds("calls")));
    const expected = this.#calls.filter(({ id, ending }) =>
      ending === "unknown" ? done.has(id) : ending === "acknowledged",
    );
    check(done.size === expected.length, "nothing is lost, and nothing rejected is done");
    check(
      expected.every(({ id }) => done.has(id)),
      "what is done was asked for",
    );
    const sum = store.read((view) => view.get("counters", 1)?.fields["k"]);
    check((sum ?? 0) === expected.length, "nothing is done twice");
  }

  async #client(): Promise<void> {
    for (let i = 0; i < CALLS; i++) {
      await pauses(this.#random.below(4));
      if (this.#random.chance(1 / 3)) await this.#read();
      else await this.#write();
    }
  }

  async #write(): Promise<void> {
    const call: Call = { id: this.#calls.length + 1, ending: "unknown" };
    this.#calls.push(call);
    const { node, replica } = this.#pickNode();
    if (replica === undefined) {
      call.ending = "rejected";
      return;
    }
    const written = replica.store.transact((transaction) => writeCall(transaction, call.id));
    try {
      const committed = await Promise.race([written, node.whenDead()]);
      written.catch(() => {});
      if (committed === undefined) return;
      call.ending = "acknowledged";
      this.#acknowledged++;
      check(!this.#txnIds.has(committed.txnId), "no transaction id is given twice");
      this.#txnIds.add(committed.txnId);
    } catch (error) {
      ignoreElsewhere(error);
      call.ending = "rejected";
    }
  }

  /** What a request sees that writes nothing is not older than the request. */
  async #read(): Promise<void> {
    const { node, replica } = this.#pickNode();
    if (replica === undefined || replica.role !== "evaluating") return;
    const before = this.#acknowledged;
    const seen = this.#ask(replica);
    try {
      const answer = await Promise.race([seen, node.whenDead()]);
      seen.catch(() => {});
      if (answer !== undefined)
        check(answer.result >= before, "no answer is older than its question");
    } catch (error) {
      ignoreElsewhere(error);
    }
  }

  async #ask(replica: Replica): Promise<{ result: number }> {
    const sum = (value: Value | undefined): number => (typeof value === "number" ? value : 0);
    if (this.#planted === "answers unconfirmed") {
      const result = replica.store.read((view) => view.get("counters", 1)?.fields["k"]);
      await pauses(2);
      return { result: sum(result) };
    }
    return replica.store.transact((transaction) =>
      sum(transaction.view.get("counters", 1)?.fields["k"]),
    );
  }

  #pickNode(): { node: RunNode; replica: Replica | undefined } {
    const evaluating = this.nodes.filter(({ replica }) => replica?.role === "evaluating");
    const isAny = evaluating.length === 0 || this.#random.chance(1 / 4);
    const node = this.#random.pick(isAny ? this.nodes : evaluating);
    return { node, replica: node.replica };
  }

  async #events(): Promise<void> {
    for (let i = 0; i < EVENTS; i++) {
      await pauses(this.#random.below(6));
      const node = this.#random.pick(this.nodes);
      const kind = this.#random.below(12);
      if (kind < 5) void node.replica?.evaluate().then((isDone) => isDone && this.#epochs++);
      else if (kind < 6) await node.replica?.stepDown();
      else if (kind < 8) node.stop(this.#random.below(20));
      else if (kind < 10) node.persist();
      else await node.crash();
    }
  }
}

/** A document for the call, and one more in the counter. */
function writeCall(transaction: Transaction, id: number): void {
  if (transaction.view.get("counters", 1) === undefined) {
    const counter = { fields: { k: 0 }, types: { k: "counter" as const } };
    transaction.apply([{ kind: "insert", collection: "counters", id: 1, ...counter }]);
  }
  transaction.apply([
    { kind: "insert", collection: "calls", id, fields: { id } },
    {
      kind: "update",
      collection: "counters",
      id: 1,
      edits: [{ kind: "increment", path: ["k"], by: 1 }],
    },
  ]);
}

function check(isRight: boolean | undefined, rule: string): void {
  if (isRight !== true) throw new Error(`expected: ${rule}`);
}

function ignoreElsewhere(error: unknown): undefined {
  if (!(error instanceof PeerError && error.code === "cluster.elsewhere")) throw error;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function pauses(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await pause();
}
