/**
 * Decode queue: decodes long bodies one at a time, because a half-decoded body takes memory.
 * Callers take turns, so many bodies of one caller do not delay those of others.
 */

import { Rotation } from "../limits/rotation.ts";

export class DecodeQueue {
  /** Functions that start waiting work, by caller. */
  readonly #waiting = new Rotation<() => void>();
  #isBusy = false;

  /** Runs `work` when its turn comes, and returns its result. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((begin) => this.#waiting.add(caller, begin));
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** Hands the slot to the next in line directly, so that no new call takes it in between. */
  #next(): void {
    const begin = this.#waiting.next();
    if (begin === undefined) this.#isBusy = false;
    else begin();
  }
}
