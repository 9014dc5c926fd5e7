/**
 * Logged crash run: one storage that follows a log, through many lives on a simulated disk, from a
 * seed. The log outlives every crash.
 *
 * Commits are entries that the log has already, or new ones, which the log takes or refuses some
 * time later. The disk does what it was asked in any order, or fails; the power goes at any point.
 * The storage always has exactly the content of its position, also when it is opened after a crash.
 */

import type { LogPosition } from "@bigpeer/engine/cluster";
import { type Random, seededRandom } from "../../../engine/test/support/test-platform.ts";
import { LoggedKeyValue } from "../../src/replica/logged-key-value.ts";
import {
  type Content,
  CRASH_LIMITS,
  contentOf,
  expectContent,
  expectEqual,
  outcomeOf,
  type RandomCommit,
  RandomWrites,
  settled,
} from "./crash-run.ts";
import { partsOn, SimulatedDisk, type SimulatedTree } from "./simulated-disk.ts";

export interface LoggedCrashTotals {
  committed: number;
  /** Entries that were applied once more after a start. */
  replayed: number;
  /** Commits that the log refused, that the disk refused before, and that were lost after it. */
  refused: number;
  failedBefore: number;
  failedAfter: number;
  empty: number;
  closed: number;
}

interface Entry extends RandomCommit {
  readonly position: LogPosition;
}

interface PendingAppend {
  readonly commit: RandomCommit;
  readonly resolve: (position: LogPosition) => void;
  readonly reject: (error: Error) => void;
}

class SimulatedStorage extends LoggedKeyValue<SimulatedTree> {
  static open(disk: SimulatedDisk): Promise<SimulatedStorage> {
    return new SimulatedStorage(partsOn(disk.mount()), { limits: CRASH_LIMITS }).recover();
  }

  keepUnacknowledged(): void {
    this.tree.keepUnacknowledged();
  }
}

export async function loggedCrashRun(seed: number, lives: number): Promise<LoggedCrashTotals> {
  const run = new LoggedCrashRun(seed);
  for (let life = 0; life < lives; life++) await run.live(`seed ${seed}, life ${life}`);
  return run.totals;
}

class LoggedCrashRun {
  readonly #random: Random;
  readonly #disk: SimulatedDisk;
  readonly #writes: RandomWrites;
  readonly #log: Entry[] = [];
  #append: PendingAppend | undefined;
  #isUnderWay = false;
  /** Whether the storage has refused to go on. */
  #isFailed = false;
  /** Entries that it appended all the same. */
  #lateAppends = 0;
  /** The position that the storage acknowledged last in this life. */
  #acknowledged: LogPosition | undefined;
  readonly totals: LoggedCrashTotals = {
    committed: 0,
    replayed: 0,
    refused: 0,
    failedBefore: 0,
    failedAfter: 0,
    empty: 0,
    closed: 0,
  };

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#disk = new SimulatedDisk(this.#random);
    this.#writes = new RandomWrites(this.#random);
  }

  async live(where: string): Promise<void> {
    const storage = await this.#open();
    if (storage === undefined) return;
    this.#acknowledged = storage.position;
    this.#check(storage, where);
    const isFailing = this.#random.chance(0.4);
    for (let turn = this.#random.below(60); turn > 0; turn--) {
      if (!this.#isUnderWay) this.#commit(storage, where);
      for (let i = this.#random.below(5); i > 0; i--) await this.#step(isFailing);
      if (this.#random.chance(0.3)) this.#check(storage, where);
    }
    expectEqual(this.#lateAppends, 0, where);
    if (this.#random.chance(0.3)) await this.#close(storage, where);
    if (this.#random.chance(0.5)) storage.keepUnacknowledged();
    await this.#crash();
  }

  /** Undefined if the power goes meanwhile. */
  async #open(): Promise<SimulatedStorage | undefined> {
    const opening = outcomeOf(SimulatedStorage.open(this.#disk));
    await settled();
    while (!opening.isSettled) {
      if (this.#random.chance(0.1)) {
        await this.#crash();
        return undefined;
      }
      await this.#step(false);
    }
    if (opening.error !== undefined) throw opening.error;
    return opening.value;
  }

  #commit(storage: SimulatedStorage, where: string): void {
    const before = storage.position;
    const known = this.#log.find(({ position }) => position.sequence > (before?.sequence ?? 0));
    const commit = known ?? this.#newCommit(this.#contentAt(before, where));
    let isAppended = false;
    const append = async (): Promise<LogPosition> => {
      if (this.#isFailed) this.#lateAppends++;
      const position = known?.position ?? (await this.#appended(commit));
      isAppended = true;
      return position;
    };
    this.#isUnderWay = true;
    storage.commitLogged(commit.writes, append).then(
      () => {
        this.#isUnderWay = false;
        this.#acknowledged = storage.position;
        this.totals.committed++;
        if (known !== undefined) this.totals.replayed++;
        if (commit.writes.size === 0) this.totals.empty++;
      },
      (error: Error) => {
        this.#isUnderWay = false;
        if (error.message === "refused by the log") this.totals.refused++;
        else if (isAppended) this.totals.failedAfter++;
        else this.totals.failedBefore++;
        this.#isFailed ||= isAppended;
      },
    );
  }

  #newCommit(content: Content): RandomCommit {
    return this.#random.chance(0.1) ? { writes: new Map(), content } : this.#writes.next(content);
  }

  /** Resolves when a later step lets the log take it. */
  #appended(commit: RandomCommit): Promise<LogPosition> {
    return new Promise((resolve, reject) => {
      this.#append = { commit, resolve, reject };
    });
  }

  async #step(isFailing: boolean): Promise<void> {
    if (this.#append !== undefined && this.#random.chance(0.5)) {
      if (this.#random.chance(0.1)) this.#append.reject(new Error("refused by the log"));
      else this.#append.resolve(this.#take(this.#append.commit));
      this.#append = undefined;
    } else this.#disk.step((name) => isFailing && name === "tree" && this.#random.chance(0.2));
    await settled();
  }

  /** Adds an entry to the log. */
  #take(commit: RandomCommit): LogPosition {
    const before = this.#log.at(-1)?.position;
    const sequence = (before?.sequence ?? 0) + 1 + this.#random.below(3);
    const epoch = (before?.epoch ?? 1) + this.#random.below(2);
    const digest = Uint8Array.from({ length: 32 }, () => this.#random.below(256));
    const position = { sequence, digest, epoch, writer: `node ${epoch}` };
    this.#log.push({ ...commit, position });
    return position;
  }

  /** If it succeeds, the disk has everything. */
  async #close(storage: SimulatedStorage, where: string): Promise<void> {
    while (this.#isUnderWay) await this.#step(false);
    const { position } = storage;
    const closing = outcomeOf(storage.close());
    await settled();
    while (!closing.isSettled) {
      if (this.#random.chance(0.05)) return;
      await this.#step(false);
    }
    expectEqual(closing.error, undefined, where);
    expectEqual(storage.durablePosition, position, where);
    this.totals.closed++;
  }

  /** The log may have taken, or not, what was under way. */
  async #crash(): Promise<void> {
    this.#disk.crash();
    // What the former process still does in memory.
    await settled();
    if (this.#append !== undefined && this.#random.chance(0.5)) this.#take(this.#append.commit);
    this.#append = undefined;
    this.#isUnderWay = false;
    this.#isFailed = false;
  }

  #check(storage: SimulatedStorage, where: string): void {
    const { position, durablePosition } = storage;
    expectEqual(position, this.#acknowledged, where);
    const isBehind = (durablePosition?.sequence ?? 0) <= (position?.sequence ?? 0);
    expectEqual(isBehind, true, where);
    expectContent(contentOf(storage), this.#contentAt(position, where), where);
  }

  #contentAt(position: LogPosition | undefined, where: string): Content {
    if (position === undefined) return new Map();
    const entry = this.#log.find((each) => each.position.sequence === position.sequence);
    expectEqual(entry?.position, position, where);
    return entry?.content ?? new Map();
  }
}
