/**
 * TimeSlicer: cooperative scheduler of long reads. Concurrent reads run in slices of time, and all
 * other work of the process runs between two slices.
 *
 * Round robin is over owners, then over the reads of an owner: an owner with many reads gets no
 * more time than one with a single read. A read starts at once, so that a short one does not wait.
 * Reads that start between two pauses share one slice; when it is used up, no other read continues
 * in that pass. All stores of a process share one time slicer.
 */

import { SLICE_MS } from "../../limits.ts";
import type { Budget } from "../frame/budget.ts";
import type { Steps } from "../frame/steps.ts";
import { underMeter } from "../value/cost-meter.ts";

/**
 * The same steps, each counted against the budget, for a caller without a time slicer. A pause is
 * between two rows, so the time of other work does not count as time of a row.
 */
export function* budgeted<T>(steps: Steps<T>, budget: Budget): Steps<T> {
  const step = (): IteratorResult<void, T> => steps.next();
  try {
    for (;;) {
      budget.endPiece();
      const { done, value } = underMeter(budget, step);
      if (done === true) return value;
      yield;
    }
  } finally {
    // A caller that stops early releases the rest.
    steps.return(undefined as T);
  }
}

/** Slices shorter than this are not counted: most reads are. */
const COUNTED_MS = 1;

/**
 * Time that continued slices may have used in a pass before another read may still start in it:
 * about that of two passes, and less than a long row. Otherwise a read of one document would wait
 * for each slice of reads of everything.
 */
const FURTHER_MS_MAX: number = 3 * SLICE_MS;

/** The part of the interface that reads use. */
export type SliceTaking = Pick<TimeSlicer, "take" | "wait">;

/** A resource that a read holds until it ends. */
interface Held {
  close(): void;
}

/** What the further slices of a read need. */
interface Rest {
  readonly held: Held;
  readonly owner: string | undefined;
  /** What the first slice yielded last: a promise if the steps wait for it (see waitFor). */
  readonly awaited: unknown;
}

/** For work without a resource. */
export const NOTHING_HELD: Held = { close: () => {} };

export class TimeSlicer {
  readonly #pause: () => Promise<void>;
  readonly #elapsed: () => number;
  /** Waiting reads of each owner, in the order of the owners' turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isGoing = false;
  /** Time of first and of further slices in this and the previous pass of the event loop. */
  #firstMs = 0;
  #furtherMs = 0;
  /** No read starts before another one has continued. */
  #isFull = false;

  /** `pause` lets other work of the process run; `elapsed` is a monotonic clock. */
  constructor(pause: () => Promise<void>, elapsed: () => number) {
    this.#pause = pause;
    this.#elapsed = elapsed;
  }

  /**
   * Runs all steps in slices, then closes `held`, also after an error. Returns a promise only if
   * one slice is not enough.
   */
  take<T>(steps: Steps<T>, budget: Budget, held: Held, owner?: string): T | Promise<T> {
    let isHeld = false;
    let awaited: unknown;
    try {
      if (this.#mayBegin()) {
        const { done, value } = this.#slice(steps, budget, true);
        if (done === true) return value;
        awaited = value;
      }
      isHeld = true;
      return this.#takeOn(steps, budget, { held, owner, awaited });
    } finally {
      if (!isHeld) held.close();
    }
  }

  #mayBegin(): boolean {
    return !this.#isFull && this.#firstMs < SLICE_MS && this.#furtherMs < FURTHER_MS_MAX;
  }

  /** The same slicer for one of several stores; each store has its own owners. */
  of(store: string): SliceTaking {
    const nameOf = (owner = ""): string => `${store} ${owner}`;
    return {
      take: (steps, budget, held, owner) => this.take(steps, budget, held, nameOf(owner)),
      wait: (owner) => this.wait(nameOf(owner)),
    };
  }

  /** Lets others run before each further slice, and until what the steps wait for is settled. */
  async #takeOn<T>(steps: Steps<T>, budget: Budget, { held, owner, awaited }: Rest): Promise<T> {
    try {
      let waited = awaited;
      for (;;) {
        if (waited instanceof Promise) await waited;
        await this.wait(owner);
        const { done, value } = this.#slice(steps, budget);
        if (done === true) return value;
        waited = value;
      }
    } finally {
      held.close();
    }
  }

  /** Runs until all is done, the slice is over, or the steps wait for a promise. */
  #slice<T>(steps: Steps<T>, budget: Budget, isFirst = false): IteratorResult<void, T> {
    // A pause is between two rows: the time of other work does not count as time of a row.
    budget.endPiece();
    const start = this.#elapsed();
    let end: number | undefined;
    try {
      return underMeter(budget, () => {
        // One step may be a row of the longest allowed time: then the slice is over.
        for (;;) {
          end = undefined;
          const result = steps.next();
          end = this.#elapsed();
          if (result.done === true || end >= start + SLICE_MS) return result;
          if ((result.value as unknown) instanceof Promise) return result;
        }
      });
    } finally {
      // Also for a read that failed: a row that took too long delayed all others.
      const ms = (end ?? this.#elapsed()) - start;
      if (ms >= COUNTED_MS) this.#count(ms, isFirst);
    }
  }

  /** Counts it for one whole pass of the event loop: a pause may end in the current pass. */
  #count(ms: number, isFirst: boolean): void {
    const add = (more: number): void => {
      if (isFirst) this.#firstMs += more;
      else this.#furtherMs += more;
    };
    add(ms);
    const forget = (): void => add(-ms);
    this.#pause()
      .then(() => this.#pause())
      .then(forget, forget);
  }

  /** Resolves when the next slice of `owner` may start. */
  wait(owner = ""): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(owner);
      if (waiting === undefined) this.#waiting.set(owner, [resolve]);
      else waiting.push(resolve);
      if (!this.#isGoing) this.#go().catch(reject);
    });
  }

  async #go(): Promise<void> {
    this.#isGoing = true;
    while (this.#waiting.size > 0) {
      await this.#pause();
      // Reads that started used this pass: none continues in it, none starts until one continued.
      this.#isFull = this.#firstMs >= SLICE_MS;
      while (this.#firstMs >= SLICE_MS) await this.#pause();
      this.#isFull = false;
      this.#next()?.();
    }
    this.#isGoing = false;
  }

  /** The first read of the owner whose turn it is; the owner moves to the end. */
  #next(): (() => void) | undefined {
    for (const [owner, waiting] of this.#waiting) {
      this.#waiting.delete(owner);
      const next = waiting.shift();
      if (waiting.length > 0) this.#waiting.set(owner, waiting);
      return next;
    }
    return undefined;
  }
}
