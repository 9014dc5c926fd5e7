/**
 * Pace: counter that says when a long search with few results should offer a pause. The search
 * offers the pause; the code that runs the statement decides whether to take it.
 */

import type { Budget } from "./budget.ts";

/** Documents after which a pause is due, and steps of work if fewer documents take so many. */
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

  /** Call once for each document, or pair of documents, that was examined. */
  isPauseDue(): boolean {
    const { work } = this.#budget;
    this.#looks++;
    if (this.#looks < LOOKS_PER_PAUSE && work - this.#paused < WORK_PER_PAUSE) return false;
    this.#looks = 0;
    this.#paused = work;
    return true;
  }
}
