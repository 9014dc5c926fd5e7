/**
 * A shared log in memory: conditional append, with faults by a seed: answers that are lost before or
 * after the append, and ids that are forgotten.
 */

import type {
  AppendOutcome,
  AppendTarget,
  SharedEntry,
  SharedLog,
} from "../../src/cluster/shared-log.ts";
import type { Random } from "./test-platform.ts";

export interface LogFaults {
  /** Fraction of appends whose request or answer is lost. */
  readonly lost: number;
  /** Fraction of appends before which the ids of all entries are forgotten. */
  readonly forgotten: number;
}

export class SimulatedLog implements SharedLog {
  readonly entries: SharedEntry[] = [];
  readonly #random: Random;
  readonly #faults: LogFaults;
  readonly #ids = new Map<string, number>();

  constructor(random: Random, faults: LogFaults) {
    this.#random = random;
    this.#faults = faults;
  }

  async append(bytes: Uint8Array, target: AppendTarget): Promise<AppendOutcome> {
    await this.#turns();
    if (this.#random.chance(this.#faults.forgotten)) this.#ids.clear();
    const isLost = this.#random.chance(this.#faults.lost);
    if (isLost && this.#random.chance(1 / 2)) return { kind: "unknown" };
    const outcome = this.#append(bytes, target);
    await this.#turns();
    return isLost ? { kind: "unknown" } : outcome;
  }

  async next(after: number): Promise<SharedEntry | undefined> {
    await this.#turns();
    if (this.#random.chance(this.#faults.lost)) throw new Error("the log cannot be reached");
    return this.entries.find(({ sequence }) => sequence > after);
  }

  #append(bytes: Uint8Array, { after, id }: AppendTarget): AppendOutcome {
    const known = this.#ids.get(id);
    if (known !== undefined) return { kind: "appended", sequence: known };
    const last = this.entries.at(-1)?.sequence ?? 0;
    if (last !== after) return { kind: "refused" };
    const sequence = last + 1;
    this.entries.push({ sequence, bytes: Uint8Array.from(bytes) });
    this.#ids.set(id, sequence);
    return { kind: "appended", sequence };
  }

  /** Lets others run, for a different time each time. */
  async #turns(): Promise<void> {
    for (let i = this.#random.below(5); i > 0; i--) await Promise.resolve();
  }
}
