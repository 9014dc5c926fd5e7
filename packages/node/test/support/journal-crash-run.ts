/**
 * Journal crash run: one journaled storage through many lives on a simulated disk, from a seed.
 *
 * Commits come one after the other; the disk does what it was asked in any order, or fails; the
 * power goes at any point. After each crash the storage is opened again, perhaps crashing while it
 * replays, and has every commit that was acknowledged, perhaps the one that was under way, and no
 * other.
 */

import { expect } from "vitest";
import { type Random, seededRandom } from "../../../engine/test/support/test-platform.ts";
import { JournaledKeyValue } from "../../src/journal/journaled-key-value.ts";
import {
  type Content,
  CRASH_LIMITS,
  contentOf,
  expectContent,
  expectEqual,
  isSame,
  outcomeOf,
  RandomWrites,
  settled,
} from "./crash-run.ts";
import { partsOn, SimulatedDisk, type SimulatedTree, type TaskName } from "./simulated-disk.ts";

const CAN_FAIL: readonly TaskName[] = ["append", "create", "prepare", "recycle", "tree"];

export interface JournalCrashTotals {
  acknowledged: number;
  failed: number;
  /** Crashes after which the commit that was under way was there, and was not. */
  kept: number;
  lost: number;
  tasks: Record<TaskName, number>;
}

class SimulatedStorage extends JournaledKeyValue<SimulatedTree> {
  static async open(disk: SimulatedDisk): Promise<SimulatedStorage> {
    const mount = disk.mount();
    const storage = await new SimulatedStorage(partsOn(mount), { limits: CRASH_LIMITS }).recover();
    storage.startJournal();
    return storage;
  }

  keepUnacknowledged(): void {
    this.tree.keepUnacknowledged();
  }
}

export async function journalCrashRun(seed: number, lives: number): Promise<JournalCrashTotals> {
  const run = new JournalCrashRun(seed);
  for (let life = 0; life < lives; life++) await run.live(`seed ${seed}, life ${life}`);
  return run.totals;
}

class JournalCrashRun {
  readonly #random: Random;
  readonly #disk: SimulatedDisk;
  readonly totals: JournalCrashTotals;
  #content: Content = new Map();
  /** What the content becomes if the commit under way is kept. */
  #underWay: Content | undefined;
  /** The same with a commit that was refused, until the disk could make the next segment. */
  #refused: Content | undefined;
  /** How many segments had been made when it was refused. */
  #createdBefore = 0;
  readonly #writes: RandomWrites;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#disk = new SimulatedDisk(this.#random);
    this.#writes = new RandomWrites(this.#random);
    this.totals = { acknowledged: 0, failed: 0, kept: 0, lost: 0, tasks: this.#disk.done };
  }

  async live(where: string): Promise<void> {
    const storage = await this.#open();
    if (storage === undefined) return;
    this.#check(storage, where);
    const isFailing = this.#random.chance(0.4);
    const turns = this.#random.below(60);
    for (let turn = 0; turn < turns; turn++) {
      if (this.#underWay === undefined) this.#commit(storage);
      for (let i = this.#random.below(4); i > 0; i--) await this.#step(isFailing);
      this.#read(storage, where);
    }
    if (this.#random.chance(0.3)) await this.#close(storage);
    if (this.#random.chance(0.5)) storage.keepUnacknowledged();
    this.#disk.crash();
  }

  /** Undefined if the power goes while the journal is replayed. */
  async #open(): Promise<SimulatedStorage | undefined> {
    const opening = outcomeOf(SimulatedStorage.open(this.#disk));
    await settled();
    while (!opening.isSettled) {
      if (this.#random.chance(0.1)) {
        this.#disk.crash();
        return undefined;
      }
      await this.#step(false);
    }
    if (opening.error !== undefined) throw opening.error;
    return opening.value;
  }

  #commit(storage: SimulatedStorage): void {
    const { writes, content } = this.#writes.next(this.#content);
    this.#underWay = content;
    storage.commit(writes).then(
      () => {
        this.totals.acknowledged++;
        this.#content = content;
        this.#underWay = undefined;
        this.#refused = undefined;
      },
      () => {
        this.totals.failed++;
        this.#underWay = undefined;
        if (this.#disk.isCreateFailing) this.#refuse(content);
      },
    );
  }

  /** Of several, the first had bytes in a segment; a segment that was made since makes it void. */
  #refuse(content: Content): void {
    const created = this.#disk.done.create;
    if (this.#refused !== undefined && created === this.#createdBefore) return;
    this.#refused = content;
    this.#createdBefore = created;
  }

  async #step(isFailing: boolean): Promise<void> {
    const failing = (name: TaskName): boolean =>
      isFailing && CAN_FAIL.includes(name) && this.#random.chance(0.1);
    this.#disk.step(failing);
    await settled();
  }

  async #close(storage: SimulatedStorage): Promise<void> {
    while (this.#underWay !== undefined) await this.#step(false);
    const closing = outcomeOf(storage.close());
    await settled();
    while (!closing.isSettled) {
      if (this.#random.chance(0.05)) return;
      await this.#step(false);
    }
    expectNoFiles(this.#disk);
  }

  #read(storage: SimulatedStorage, where: string): void {
    const snapshot = storage.snapshot();
    const key = `a${this.#random.below(30)}`;
    expectEqual(snapshot.get(key), this.#content.get(key), where);
    snapshot.close();
    if (this.#random.chance(0.1)) expectContent(contentOf(storage), this.#content, where);
  }

  /** Everything acknowledged, and the commit that was under way as a whole or not at all. */
  #check(storage: SimulatedStorage, where: string): void {
    const found = contentOf(storage);
    if (this.#underWay !== undefined && isSame(found, this.#underWay)) {
      this.#content = this.#underWay;
      this.totals.kept++;
    } else if (this.#refused !== undefined && isSame(found, this.#refused)) {
      // Nothing could be written that would have made it void (K83).
      this.#content = this.#refused;
    } else if (this.#underWay !== undefined) this.totals.lost++;
    this.#underWay = undefined;
    this.#refused = undefined;
    expectContent(found, this.#content, where);
  }
}

function expectNoFiles({ names }: SimulatedDisk): void {
  expect([...names.keys()]).toEqual([]);
}
