/**
 * Turns: reads that are at work at the same time go one after the other, a slice each, and everything
 * else has its turn between any two slices.
 *
 * Owners take turns, and so do the reads of each: who has many of them gets no more than who has one.
 * A read begins at once, so that a short one waits for nobody; but all that begin between two pauses
 * have one slice together, and none with one that goes on. All stores of a process share them.
 */

import { SLICE_MS } from "../../limits.ts";
import type { Budget } from "../frame/budget.ts";
import type { Steps } from "../frame/steps.ts";
import { underMeter } from "../value/effort.ts";

/**
 * The same steps, each counted against the budget, for whoever takes them and knows of none. A pause
 * is between two rows, and the time of others is not the time of a row.
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
    // Whoever takes no more steps is done with all of it.
    steps.return(undefined as T);
  }
}

/** What takes less is not counted: most reads do. */
const COUNTED_MS = 1;

/**
 * Slices that go on may have taken this before another read begins in the same pass: as much as those of
 * two passes usually take, and less than a long row. Else whoever reads one document would wait for each
 * slice of those who read all.
 */
const FURTHER_MS_MAX: number = 3 * SLICE_MS;

/** Turns as those see them who take them. */
export type TurnTaking = Pick<Turns, "take" | "wait">;

/** What a read holds until it is over. */
interface Held {
  close(): void;
}

export class Turns {
  readonly #pause: () => Promise<void>;
  readonly #elapsed: () => number;
  /** Those of each owner, in the order in which it is the owners' turn. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isGoing = false;
  /** What first slices took in this pass of the host's loop or the one before, and what others took. */
  #firstMs = 0;
  #furtherMs = 0;
  /** No other read begins before one has gone on. */
  #isFull = false;

  /** `pause` lets everything else that waits have its turn; `elapsed` is a clock that never goes back. */
  constructor(pause: () => Promise<void>, elapsed: () => number) {
    this.#pause = pause;
    this.#elapsed = elapsed;
  }

  /**
   * Takes all steps, a slice of time after the other, and closes what is held for them, be it after an
   * error. A promise only when one slice is not enough.
   */
  take<T>(steps: Steps<T>, budget: Budget, held: Held, owner?: string): T | Promise<T> {
    let isHeld = false;
    try {
      if (this.#mayBegin()) {
        const { done, value } = this.#slice(steps, budget, true);
        if (done === true) return value;
      }
      isHeld = true;
      return this.#takeOn(steps, budget, held, owner);
    } finally {
      if (!isHeld) held.close();
    }
  }

  #mayBegin(): boolean {
    return !this.#isFull && this.#firstMs < SLICE_MS && this.#furtherMs < FURTHER_MS_MAX;
  }

  /** The same turns for one of several stores: an owner is none of the same name elsewhere. */
  of(store: string): TurnTaking {
    const nameOf = (owner = ""): string => `${store} ${owner}`;
    return {
      take: (steps, budget, held, owner) => this.take(steps, budget, held, nameOf(owner)),
      wait: (owner) => this.wait(nameOf(owner)),
    };
  }

  /** Lets others have their turn before each further slice. */
  async #takeOn<T>(
    steps: Steps<T>,
    budget: Budget,
    held: Held,
    owner: string | undefined,
  ): Promise<T> {
    try {
      for (;;) {
        await this.wait(owner);
        const { done, value } = this.#slice(steps, budget);
        if (done === true) return value;
      }
    } finally {
      held.close();
    }
  }

  /** Goes on until all is done, or for a slice of time. */
  #slice<T>(steps: Steps<T>, budget: Budget, isFirst = false): IteratorResult<void, T> {
    // A pause is between two rows, and the time of others is not the time of a row.
    budget.endPiece();
    const start = this.#elapsed();
    let end: number | undefined;
    try {
      return underMeter(budget, () => {
        // One step may be a row that takes as long as it may: then the slice is over.
        for (;;) {
          end = undefined;
          const result = steps.next();
          end = this.#elapsed();
          if (result.done === true || end >= start + SLICE_MS) return result;
        }
      });
    } finally {
      // Also of a read that was ended: a row that took too long took its time from everybody.
      const ms = (end ?? this.#elapsed()) - start;
      if (ms >= COUNTED_MS) this.#count(ms, isFirst);
    }
  }

  /** Counts it until a whole pass of the host's loop is over: a pause may end in the one at hand. */
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

  /** Resolves when the next slice of `owner` may begin. */
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
      // Those that have begun had this pass: nobody goes on in it, and none begins until one went on.
      this.#isFull = this.#firstMs >= SLICE_MS;
      while (this.#firstMs >= SLICE_MS) await this.#pause();
      this.#isFull = false;
      this.#next()?.();
    }
    this.#isGoing = false;
  }

  /** The first one of the owner whose turn it is, who goes to the end. */
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
