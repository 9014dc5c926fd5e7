/**
 * Log trimmer: makes the logs of the stores that this node evaluates forget what all nodes have on
 * their disks (trim-plan.ts). It runs every minute.
 *
 * A store that was closed meanwhile stays in its list until its log is trimmed, since other nodes
 * may reach their positions later.
 */

import { PeriodicTask } from "../maintenance/periodic-task.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { StorePosition } from "./store-positions.ts";
import { type NodeProgress, progressOf, type TrimBounds, trimThrough } from "./trim-plan.ts";

const TRIM_MS = 60_000;

/** Stores that a node is asked for at once. */
const BATCH = 1_000;

export interface LogTrimmerHost {
  /** Open stores that this node evaluates. */
  readonly evaluated: () => readonly string[];
  /** Where this node is in the log of a store. */
  readonly own: (store: string) => StorePosition;
  /** Names of the other nodes that are known, also of those that are away. */
  readonly nodes: () => readonly string[];
  /** Asks a node for the positions of stores, in their order; undefined if it does not answer. */
  readonly ask: (
    node: string,
    stores: readonly string[],
  ) => Promise<readonly StorePosition[] | undefined>;
  readonly trim: (store: string, through: number) => Promise<void>;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly bounds: TrimBounds;
  readonly everyMs?: number | undefined;
  readonly log: Log;
}

interface TrimmedStore {
  /** Where this node was when the others were asked last. */
  asked: number;
  trimmed: number;
  readonly progress: Map<string, NodeProgress>;
}

export class LogTrimmer {
  readonly #host: LogTrimmerHost;
  readonly #stores = new Map<string, TrimmedStore>();
  readonly #task: PeriodicTask;

  constructor(host: LogTrimmerHost) {
    this.#host = host;
    this.#task = new PeriodicTask((isStopped) => this.#pass(isStopped), host.everyMs ?? TRIM_MS);
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #pass(isStopped: () => boolean): Promise<void> {
    for (const store of this.#host.evaluated()) {
      if (!this.#stores.has(store)) {
        this.#stores.set(store, { asked: 0, trimmed: 0, progress: new Map() });
      }
    }
    // A removed app has no position.
    for (const store of this.#stores.keys()) {
      if (this.#host.own(store).sequence === 0) this.#stores.delete(store);
    }
    const due = [...this.#stores.keys()].filter((store) => this.#isDue(store));
    for (let at = 0; at < due.length && !isStopped(); at += BATCH) {
      const stores = due.slice(at, at + BATCH);
      try {
        await this.#ask(stores);
        for (const store of stores) if (!isStopped()) await this.#trim(store);
      } catch (error) {
        if (isStopped()) return;
        this.#host.log("warn", `failed to trim logs of the cluster: ${describeError(error)}`);
      }
    }
  }

  /** Whether there is more to forget than what is kept anyway. */
  #isDue(store: string): boolean {
    const { own, bounds } = this.#host;
    const trimmed = this.#stores.get(store)?.trimmed ?? 0;
    return own(store).sequence - bounds.keptEntries > trimmed;
  }

  async #ask(stores: readonly string[]): Promise<void> {
    const { ask, own, nodes, elapsed } = this.#host;
    const known = nodes();
    const answers = await Promise.all(known.map((node) => ask(node, stores)));
    for (const [index, store] of stores.entries()) {
      const state = this.#stores.get(store);
      if (state === undefined) continue;
      for (const node of state.progress.keys()) {
        if (!known.includes(node)) state.progress.delete(node);
      }
      for (const [place, node] of known.entries()) {
        const sequence = answers[place]?.[index]?.sequence;
        const before = state.progress.get(node);
        state.progress.set(node, progressOf(before, sequence, state.asked, elapsed()));
      }
      state.asked = own(store).sequence;
    }
  }

  async #trim(store: string): Promise<void> {
    const { own, bounds, trim, elapsed, evaluated } = this.#host;
    const state = this.#stores.get(store);
    if (state === undefined) return;
    const { sequence } = own(store);
    const through = trimThrough(sequence, [...state.progress.values()], bounds, elapsed());
    if (through > state.trimmed) {
      await trim(store, through);
      state.trimmed = through;
    }
    // Trimmed as far as possible, and another node may evaluate it next.
    if (!this.#isDue(store) && !evaluated().includes(store)) this.#stores.delete(store);
  }
}
