/**
 * A machine of the simulation: a clock of its own, random bytes of its own, a disk that outlives its
 * processes, and one process at a time, which ends with a crash.
 */

import { createHash } from "node:crypto";
import type { CommitOptions, KeyValue, Platform, Snapshot, Writes } from "../../src/platform.ts";
import { MemoryDisk, type WriteFailure } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { type Random, START_MS, seededRandom, testPlatform } from "../support/test-platform.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimMedium } from "./sim-medium.ts";

/** One process: what it planned does not happen when it is dead. */
export class Life {
  isAlive = true;
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  after(delayMs: number, work: () => void): () => void {
    return this.#scheduler.after(delayMs, () => {
      if (this.isAlive) work();
    });
  }
}

/** A write takes this long, most of the time; now and then it takes much longer. */
const SYNC_MS = 3;
const SLOW_SYNC_MS = 400;

/** Makes what a machine keeps its data on. */
export type NewMedium = (node: SimNode) => SimMedium;

export class SimNode {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** How far the wall clock of this machine is from the true time. */
  skewMs = 0;
  life: Life;
  /** Told of each write that became durable. */
  onDurable: (() => void) | undefined;
  /** Writes until the power goes while one is on its way; undefined for a machine that holds. */
  writesToCrash: number | undefined;
  onPowerLoss: (() => void) | undefined;
  /** Why the storage refuses a commit; undefined if it does not. */
  refusalOf: ((writes: Writes) => WriteFailure | undefined) | undefined;
  /** What it keeps its data on instead of the disk, if there is something. */
  medium: SimMedium | undefined;
  #disk: MemoryDisk;
  #elapsedExtra = 0;

  constructor(name: string, scheduler: Scheduler, seed: number) {
    this.name = name;
    this.scheduler = scheduler;
    this.random = seededRandom(seed);
    this.life = new Life(scheduler);
    this.#disk = emptyDisk();
  }

  get disk(): MemoryDisk {
    return this.#disk;
  }

  note(what: string): void {
    this.scheduler.note(this.name, what);
  }

  get nowMs(): number {
    return START_MS + Math.floor(this.scheduler.now + this.skewMs);
  }

  /** What the engine asks of its host, for the process that lives now. */
  platform(): Platform {
    const { life } = this;
    return {
      now: () => this.nowMs,
      // A little passes with each look, so that long work takes its turns here as well.
      elapsed: () => this.scheduler.now + (this.#elapsedExtra += 0.001),
      pause: () =>
        new Promise((resolve) => {
          life.after(0.05 + this.random.below(20) / 100, resolve);
        }),
      random: (size) => this.#bytes(size),
      sha256: (bytes) => new Uint8Array(createHash("sha256").update(bytes).digest()),
      pattern: (source, flags) => PATTERNS.pattern(source, flags),
      explainer: () => PATTERNS.explainer(),
    };
  }

  /** The storage of the process that lives now. */
  storage(): KeyValue {
    return new SimStorage(this, new MemoryKeyValue(this.#disk), this.#disk, this.life);
  }

  /**
   * The process ends at once; what it had not synced is lost, or is kept without an acknowledgement. Of the
   * relaxed commits after the last strict one, some of the newest may be lost. Returns their number.
   */
  crash(): number {
    this.life.isAlive = false;
    const relaxedLost = this.medium?.crash() ?? this.#crashDisk();
    this.writesToCrash = undefined;
    this.life = new Life(this.scheduler);
    return relaxedLost;
  }

  #crashDisk(): number {
    const unsynced = this.random.chance(0.5) ? "kept" : "lost";
    const { relaxedCount } = this.#disk;
    const isTaken = relaxedCount > 0 && unsynced === "lost";
    const relaxedLost = isTaken ? this.random.below(relaxedCount + 1) : 0;
    this.#disk.crash({ unsynced, relaxedLost });
    return relaxedLost;
  }

  /** A write begins, which takes so long: the power may go meanwhile, or soon after. */
  writeBegins(delayMs: number): void {
    if (this.writesToCrash === undefined || this.writesToCrash-- > 0) return;
    this.writesToCrash = undefined;
    this.life.after((this.random.below(1000) / 1000) * delayMs * 1.2, () => this.onPowerLoss?.());
  }

  /** What the disk holds now, as a disk of its own. */
  async copyOfDisk(): Promise<MemoryDisk> {
    return copyOf(this.#disk);
  }

  /** Another disk is put into the machine; the process must be dead. */
  putDisk(disk: MemoryDisk): void {
    this.#disk = disk;
  }

  /** Sites have 48 bits here, so that the model, which counts with numbers, knows them exactly. */
  #bytes(size: number): Uint8Array {
    const bytes = new Uint8Array(size);
    for (let i = size === 8 ? 2 : 0; i < size; i++) bytes[i] = this.random.below(256);
    return bytes;
  }
}

const PATTERNS = testPlatform();

function emptyDisk(): MemoryDisk {
  const disk = new MemoryDisk();
  disk.holdSyncs();
  return disk;
}

export async function copyOf(source: MemoryDisk): Promise<MemoryDisk> {
  const disk = new MemoryDisk();
  const entries = source.state.entries({ from: "\x00", to: "\xff" });
  await disk.write(disk.mount(), new Map(entries));
  disk.holdSyncs();
  return disk;
}

/** A storage whose commits become durable by events. */
class SimStorage implements KeyValue {
  readonly #node: SimNode;
  readonly #inner: MemoryKeyValue;
  readonly #disk: MemoryDisk;
  readonly #life: Life;

  constructor(node: SimNode, inner: MemoryKeyValue, disk: MemoryDisk, life: Life) {
    this.#node = node;
    this.#inner = inner;
    this.#disk = disk;
    this.#life = life;
  }

  snapshot(): Snapshot {
    return this.#inner.snapshot();
  }

  async commit(writes: Writes, options?: CommitOptions): Promise<void> {
    const node = this.#node;
    const refusal = node.refusalOf?.(writes);
    if (refusal !== undefined) this.#disk.failNextWrite(refusal);
    const isSlow = node.random.chance(0.02);
    const delay = 0.2 + (node.random.below(1000) / 1000) * (isSlow ? SLOW_SYNC_MS : SYNC_MS);
    if (this.#life.isAlive) node.writeBegins(delay);
    this.#life.after(delay, () => {
      if (this.#disk.syncNext()) node.onDurable?.();
    });
    return this.#inner.commit(writes, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
