/**
 * A simulated IndexedDB as what a machine of the simulator keeps its data on: the storage of browsers
 * on it, driven by the events of the run.
 *
 * Transactions are aborted, meet the quota, or lose their connection, before or after they were
 * committed. A read of an opening fails for a moment. A crash takes away the newest relaxed ones. After each crash the content must be that
 * after one of the commits, and no strict one may be missing (K89). The disk of the machine follows
 * the content, because the simulator looks at it.
 */

import type { Key, KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import { encodeCbor, PeerError, type Value } from "@bigpeer/protocol";
import type { SimMedium } from "../../../engine/test/sim/sim-medium.ts";
import type { Life, SimNode } from "../../../engine/test/sim/sim-node.ts";
import { openIndexedKeyValue } from "../../src/web/storage/index.ts";
import { checkMeta } from "../../src/web/storage/indexed-database.ts";
import type { IndexedKey } from "../../src/web/storage/indexed-db.ts";
import { decodePage } from "../../src/web/storage/page-record.ts";
import { assemble, decodeCommit } from "../../src/web/storage/recovery.ts";
import { SimulatedDisk, type TransactionFault } from "./simulated-indexed-db.ts";

/** Small, so that every run has many checkpoints, in several transactions. */
const CHECKPOINT = { size: 20_000, count: 25, batchSize: 4_000 };

const NAME = "peer";

const EVERYTHING = { from: "\x00", to: "\xff" };

/** A step of IndexedDB takes this long; now and then it takes much longer. */
const STEP_MS = 0.15;
const SLOW_STEP_MS = 150;

/** About the time of a commit. */
const COMMIT_MS = 1;

/** How many of a thousand transactions lose their connection, which the storage must not show. */
const DROPS_PER_MILLE = 10;

/** How many of a thousand reads fail, at most twice in an opening: its third attempt succeeds. */
const READ_FAULTS_PER_MILLE = 50;
const READ_FAULTS_MAX = 2;

/** A commit that grows, for the question whether the quota is reached. */
const GROWING: Writes = new Map([["a", 1]]);

type CommitOptions = NonNullable<Parameters<KeyValue["commit"]>[1]>;

/** A state is a list of keys and values, in order. */
type State = readonly (readonly [Key, Value])[];

export class IndexedMedium implements SimMedium {
  readonly #node: SimNode;
  #disk: SimulatedDisk;
  /** The disk of the machine that has the same content; undefined until that is so. */
  #follower: SimNode["disk"] | undefined;
  /** The states that a crash can leave: that after the last strict commit, and those after it. */
  #states: State[] = [];
  /** The commit that is under way. */
  #begun: Writes | undefined;
  #failure: TransactionFault | undefined;
  #openings = 0;
  #readFaults = 0;
  #nextMs = 0;

  constructor(node: SimNode) {
    this.#node = node;
    this.#disk = this.#newDisk();
  }

  async open(): Promise<KeyValue> {
    const { life, disk, name } = this.#node;
    const isNew = this.#follower !== disk;
    this.#readFaults = 0;
    if (isNew) this.#disk = this.#newDisk();
    const opened = await openIndexedKeyValue({
      name: NAME,
      db: this.#disk.start(),
      id: `${name} ${++this.#openings}`,
      wait: (ms) => new Promise((resolve) => this.#wait(ms, life, resolve)),
      checkpoint: CHECKPOINT,
    });
    if (opened.kind !== "opened") throw new Error("IndexedDB is unavailable");
    const { storage } = opened;
    disk.releaseSyncs();
    // What was copied from another machine.
    const entries = [...disk.state.entries(EVERYTHING)];
    if (isNew && entries.length > 0) await storage.commit(new Map(entries));
    this.#follower = disk;
    this.#states = [entries];
    return new FollowedStorage(this.#node, storage, {
      begin: (writes) => {
        this.#begun = writes;
      },
      end: (writes, options) => this.#follow(writes, options),
    });
  }

  crash(): number {
    const { random } = this.#node;
    this.#disk.crash(random.below(this.#disk.unsyncedCount + 1));
    this.#failure = undefined;
    return this.#follower === undefined ? 0 : this.#reread(this.#follower);
  }

  failNextWrite(code: "store.full" | "store.write_failed" | undefined): void {
    if (code === undefined) this.#failure = undefined;
    else this.#failure = code === "store.full" ? "quota" : "abort";
  }

  #newDisk(): SimulatedDisk {
    const disk = new SimulatedDisk((task) => this.#later(task));
    disk.faultAt = () => this.#faultOf();
    disk.readFault = () => this.#readFaultOf();
    return disk;
  }

  /** Its tasks happen one after the other, as in a browser. */
  #later(task: () => void): void {
    const { scheduler, random } = this.#node;
    const mostMs = random.chance(0.005) ? SLOW_STEP_MS : STEP_MS;
    const delayMs = (random.below(1000) / 1000) * mostMs;
    this.#nextMs = Math.max(this.#nextMs, scheduler.now + delayMs);
    scheduler.after(this.#nextMs - scheduler.now, task);
  }

  /** A timer of a page, which comes after the events that the browser has sent before. */
  #wait(ms: number, life: Life, work: () => void): void {
    const { scheduler } = this.#node;
    life.after(Math.max(ms, this.#nextMs - scheduler.now), work);
  }

  #faultOf(): TransactionFault | undefined {
    const { random, refusalOf } = this.#node;
    const asked = this.#failure;
    this.#failure = undefined;
    if (asked !== undefined) return asked;
    const refusal = refusalOf?.(GROWING);
    if (refusal !== undefined) return refusal === "store.full" ? "quota" : "abort";
    if (random.below(1000) >= DROPS_PER_MILLE) return undefined;
    return random.pick(["unknown", "closed", "closed after commit"]);
  }

  #readFaultOf(): string | undefined {
    const { random } = this.#node;
    if (this.#readFaults === READ_FAULTS_MAX) return undefined;
    if (random.below(1000) >= READ_FAULTS_PER_MILLE) return undefined;
    this.#readFaults++;
    return random.pick(["UnknownError", "InvalidStateError", "AbortError"]);
  }

  /** A commit is acknowledged, or refused. */
  async #follow(writes: Writes | undefined, options: CommitOptions | undefined): Promise<void> {
    this.#begun = undefined;
    const disk = this.#follower;
    if (disk === undefined || writes === undefined) return;
    await disk.write(disk.mount(), writes);
    const state = [...disk.state.entries(EVERYTHING)];
    if (options?.durability === "relaxed") this.#states.push(state);
    else this.#states = [state];
    this.#node.onDurable?.();
  }

  /** Brings the disk to what the crash has left. Returns the number of commits that are lost. */
  #reread(disk: SimNode["disk"]): number {
    const left = this.#content();
    const before = this.#states.at(-1) ?? [];
    const texts = this.#states.map(textOf);
    const lost = texts.toReversed().indexOf(textOf(left));
    // It may have been written, without an acknowledgement.
    const isBegun =
      this.#begun !== undefined && textOf(left) === textOf(after(before, this.#begun));
    if (lost === -1 && !isBegun) {
      const detail = `${this.#node.name}: ${textOf(left)}\nexpected one of\n${texts.join("\n")}`;
      this.#node.scheduler.fail("[K89] a crash leaves the state after a commit", detail);
    }
    this.#states = [left];
    this.#begun = undefined;
    disk.crash();
    const writes = new Map<Key, Value | undefined>(before.map(([key]) => [key, undefined]));
    for (const [key, value] of left) writes.set(key, value);
    void disk.write(disk.mount(), writes);
    return Math.max(0, lost);
  }

  /** What the storage finds when it is opened now. */
  #content(): State {
    const records = (store: string): [IndexedKey, unknown][] =>
      [...this.#disk.records(NAME, store)].sort(([a], [b]) => (a < b ? -1 : 1));
    const meta = this.#disk.records(NAME, "meta").get("store");
    // The browser crashed while the database was made.
    if (meta === undefined) return [];
    const pages = records("page").map(([key, value]) => decodePage(String(key), value));
    const commits = records("log").map(([key, value]) => decodeCommit(Number(key), value));
    const { table } = assemble(checkMeta(meta, NAME), pages, commits);
    const content: (readonly [Key, Value])[] = [];
    for (const walk = table.walk(EVERYTHING); walk.key !== undefined; walk.next()) {
      content.push([walk.key, walk.value.decode()]);
    }
    return content;
  }
}

interface CommitWatch {
  begin(writes: Writes): void;
  /** Undefined for a commit that was refused. */
  end(writes: Writes | undefined, options: CommitOptions | undefined): Promise<void>;
}

/** A storage of a process, which does nothing any more when the process is dead. */
class FollowedStorage implements KeyValue {
  readonly #node: SimNode;
  readonly #life: Life;
  readonly #inner: KeyValue;
  readonly #watch: CommitWatch;

  constructor(node: SimNode, inner: KeyValue, watch: CommitWatch) {
    this.#node = node;
    this.#life = node.life;
    this.#inner = inner;
    this.#watch = watch;
  }

  snapshot(): Snapshot {
    if (!this.#life.isAlive) throw new PeerError("store.closed", "the process has ended");
    return this.#inner.snapshot();
  }

  async commit(writes: Writes, options?: CommitOptions): Promise<void> {
    if (!this.#life.isAlive) return never();
    this.#node.writeBegins(COMMIT_MS);
    this.#watch.begin(writes);
    try {
      await this.#inner.commit(writes, options);
    } catch (error) {
      if (!this.#life.isAlive) return never();
      await this.#watch.end(undefined, options);
      throw error;
    }
    if (!this.#life.isAlive) return never();
    await this.#watch.end(writes, options);
  }

  async close(): Promise<void> {
    await this.#inner.close();
    if (!this.#life.isAlive) return never();
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function after(state: State, writes: Writes): State {
  const all = new Map<Key, Value>(state);
  for (const [key, value] of writes) {
    if (value === undefined) all.delete(key);
    else all.set(key, value);
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Equal for equal states. */
function textOf(state: State): string {
  return state
    .map(
      ([key, value]) => `${JSON.stringify(key)}: ${Buffer.from(encodeCbor(value)).toString("hex")}`,
    )
    .join(", ");
}
