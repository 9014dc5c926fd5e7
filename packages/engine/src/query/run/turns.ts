/**
 * Turns: reads that are at work at the same time go one after the other, a slice each, and everything
 * else has its turn between any two slices.
 */

import { SLICE_MS } from "../../limits.ts";
import type { Budget } from "../frame/budget.ts";
import type { Steps } from "../frame/steps.ts";
import { underMeter } from "../value/effort.ts";

/** What a read holds until it is over. */
interface Held {
  close(): void;
}

export class Turns {
  readonly #pause: () => Promise<void>;
  readonly #elapsed: () => number;
  readonly #waiting: (() => void)[] = [];
  #isGoing = false;

  /** `pause` lets everything else that waits have its turn; `elapsed` is a clock that never goes back. */
  constructor(pause: () => Promise<void>, elapsed: () => number) {
    this.#pause = pause;
    this.#elapsed = elapsed;
  }

  /**
   * Takes all steps, a slice of time after the other, and closes what is held for them, be it after an
   * error. A promise only when one slice is not enough.
   */
  take<T>(steps: Steps<T>, budget: Budget, held: Held): T | Promise<T> {
    let isHeld = false;
    try {
      const { done, value } = this.#slice(steps, budget);
      if (done === true) return value;
      isHeld = true;
      return this.#takeOn(steps, budget, held);
    } finally {
      if (!isHeld) held.close();
    }
  }

  /** Lets others have their turn before each further slice. */
  async #takeOn<T>(steps: Steps<T>, budget: Budget, held: Held): Promise<T> {
    try {
      for (;;) {
        await this.wait();
        const { done, value } = this.#slice(steps, budget);
        if (done === true) return value;
      }
    } finally {
      held.close();
    }
  }

  /** Goes on until all is done, or for a slice of time. */
  #slice<T>(steps: Steps<T>, budget: Budget): IteratorResult<void, T> {
    // A pause is between two rows, and the time of others is not the time of a row.
    budget.endPiece();
    return underMeter(budget, () => {
      let result = steps.next();
      // Most are done with their first step, and a look at the clock costs as much as some of them.
      if (result.done === true) return result;
      const end = this.#elapsed() + SLICE_MS;
      while (result.done !== true && this.#elapsed() < end) result = steps.next();
      return result;
    });
  }

  /** Resolves when the next slice may begin. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      if (!this.#isGoing) this.#go().catch(reject);
    });
  }

  async #go(): Promise<void> {
    this.#isGoing = true;
    while (this.#waiting.length > 0) {
      await this.#pause();
      this.#waiting.shift()?.();
    }
    this.#isGoing = false;
  }
}
