/**
 * A shared log in memory: conditional append, with faults by a seed: answers that are lost before or
 * after the append, ids that are forgotten, entries that come late or twice, tails that break.
 */

import type {
  AppendOutcome,
  AppendTarget,
  LogTail,
  SharedEntry,
  SharedLog,
} from "../../src/cluster/shared-log.ts";
import type { Random } from "./test-platform.ts";

export interface LogFaults {
  /** Fraction of appends whose request or answer is lost. */
  readonly lost: number;
  /** Fraction of appends before which the ids of all entries are forgotten. */
  readonly forgotten: number;
  /** Fraction of entries after which a tail breaks. */
  readonly broken?: number;
}

export class SimulatedLog implements SharedLog {
  readonly entries: SharedEntry[] = [];
  readonly #random: Random;
  readonly #faults: LogFaults;
  readonly #ids = new Map<string, number>();
  readonly #wakes = new Set<() => void>();
  readonly #pause: () => Promise<void>;
  #restarts = 0;
  /** Called with each entry when it is appended, before anyone else can know of it. */
  onAppended: ((entry: SharedEntry) => void) | undefined;
  /** While it is set, nobody reaches the log. */
  isDown = false;

  /** `pause` lets others run, for a different time each time; left out, for up to five turns. */
  constructor(random: Random, faults: LogFaults, pause?: () => Promise<void>) {
    this.#random = random;
    this.#faults = faults;
    this.#pause = pause ?? (() => this.#turns());
  }

  async append(bytes: Uint8Array, target: AppendTarget): Promise<AppendOutcome> {
    await this.#pause();
    if (this.isDown) return { kind: "unknown" };
    if (this.#random.chance(this.#faults.forgotten)) this.#ids.clear();
    const isLost = this.#random.chance(this.#faults.lost);
    if (isLost && this.#random.chance(1 / 2)) return { kind: "unknown" };
    const outcome = this.#append(bytes, target);
    await this.#pause();
    return isLost ? { kind: "unknown" } : outcome;
  }

  async next(after: number): Promise<SharedEntry | undefined> {
    await this.#pause();
    this.#reach();
    return this.entries.find(({ sequence }) => sequence > after);
  }

  async end(): Promise<number> {
    await this.#pause();
    this.#reach();
    return this.#last;
  }

  follow(after: number): LogTail {
    let isClosed = false;
    const iterate = this.#iterate(after, () => isClosed);
    return {
      [Symbol.asyncIterator]: () => iterate,
      close: () => {
        isClosed = true;
        this.wake();
      },
    };
  }

  async trim(through: number): Promise<void> {
    await this.#pause();
    const kept = Math.min(through, this.#last - 1);
    while ((this.entries[0]?.sequence ?? Number.POSITIVE_INFINITY) <= kept) this.entries.shift();
  }

  /** Loses its last entries, which must not happen. */
  lose(count: number): void {
    this.entries.splice(this.entries.length - count, count);
    this.#ids.clear();
  }

  /** Ends all tails, as a restart of the log does. */
  breakTails(): void {
    this.#restarts++;
    this.wake();
  }

  get #last(): number {
    return this.entries.at(-1)?.sequence ?? 0;
  }

  #reach(): void {
    if (this.isDown || this.#random.chance(this.#faults.lost)) {
      throw new Error("the log cannot be reached");
    }
  }

  async *#iterate(after: number, isClosed: () => boolean): AsyncGenerator<SharedEntry> {
    let reached = after;
    const restarts = this.#restarts;
    while (!isClosed()) {
      await this.#pause();
      if (restarts !== this.#restarts) throw new Error("the tail broke");
      const entry = this.isDown
        ? undefined
        : this.entries.find(({ sequence }) => sequence > reached);
      if (entry === undefined) await this.#whenWoken(isClosed);
      else {
        reached = entry.sequence;
        yield entry;
        if (this.#random.chance(this.#faults.broken ?? 0)) throw new Error("the tail broke");
      }
    }
  }

  async #whenWoken(isClosed: () => boolean): Promise<void> {
    if (isClosed()) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
    });
  }

  /** Everybody who waits for an entry looks again. */
  wake(): void {
    for (const each of this.#wakes) each();
  }

  #append(bytes: Uint8Array, { after, id }: AppendTarget): AppendOutcome {
    const known = this.#ids.get(id);
    if (known !== undefined) return { kind: "appended", sequence: known };
    const last = this.#last;
    // A log that has lost entries cannot say that there is a later one.
    if (last !== after) return last > after ? { kind: "refused" } : { kind: "unknown" };
    const sequence = last + 1;
    const entry = { sequence, bytes: Uint8Array.from(bytes) };
    this.entries.push(entry);
    this.#ids.set(id, sequence);
    this.onAppended?.(entry);
    this.wake();
    return { kind: "appended", sequence };
  }

  async #turns(): Promise<void> {
    for (let i = this.#random.below(5); i > 0; i--) await Promise.resolve();
  }
}

/** The log as one node reaches it, which may be stopped: it goes on as if nothing had happened. */
export class StoppableLog implements SharedLog {
  readonly #log: SharedLog;
  #stopped: Promise<void> | undefined;

  constructor(log: SharedLog) {
    this.#log = log;
  }

  /** Returns a function that wakes it. */
  stop(): () => void {
    let wake: () => void = () => undefined;
    this.#stopped = new Promise((resolve) => {
      wake = resolve;
    });
    return () => {
      this.#stopped = undefined;
      wake();
    };
  }

  append(bytes: Uint8Array, target: AppendTarget): Promise<AppendOutcome> {
    return this.#awake(() => this.#log.append(bytes, target));
  }

  next(after: number): Promise<SharedEntry | undefined> {
    return this.#awake(() => this.#log.next(after));
  }

  end(): Promise<number> {
    return this.#awake(() => this.#log.end());
  }

  follow(after: number): LogTail {
    const tail = this.#log.follow(after);
    const entries = this.#deliver(tail);
    return { [Symbol.asyncIterator]: () => entries, close: () => tail.close() };
  }

  trim(through: number): Promise<void> {
    return this.#awake(() => this.#log.trim(through));
  }

  async *#deliver(tail: LogTail): AsyncGenerator<SharedEntry> {
    for await (const entry of tail) yield await this.#awake(async () => entry);
  }

  async #awake<T>(work: () => Promise<T>): Promise<T> {
    await this.#stopped;
    const result = await work();
    await this.#stopped;
    return result;
  }
}
