/**
 * Pace: says when a pause is due while much is looked at and little is found. Whoever looks offers the
 * pause; whether it is taken is decided by who runs the statement.
 */

import type { Budget } from "./budget.ts";

/** Looks after which a pause is due, and steps of work, should few of them take so many. */
const LOOKS_PER_PAUSE = 64;
export const WORK_PER_PAUSE = 4096;

export class Pace {
  readonly #budget: Pick<Budget, "work">;
  #looks = 0;
  #paused: number;

  constructor(budget: Pick<Budget, "work">) {
    this.#budget = budget;
    this.#paused = budget.work;
  }

  /** To be asked once for each document, or pair of them, that was looked at. */
  isPauseDue(): boolean {
    const { work } = this.#budget;
    this.#looks++;
    if (this.#looks < LOOKS_PER_PAUSE && work - this.#paused < WORK_PER_PAUSE) return false;
    this.#looks = 0;
    this.#paused = work;
    return true;
  }
}
