/**
 * Decode queue: bodies that take long to decode, one at a time, because what is half decoded takes
 * memory, and in turn for each caller, so that many bodies of one do not hold up the others.
 */

import { Rotation } from "../rotation.ts";

export class DecodeQueue {
  /** Each begins when it is called. */
  readonly #waiting = new Rotation<() => void>();
  #isBusy = false;

  /** The result of `work`, which begins when it is its turn. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await new Promise<void>((begin) => this.#waiting.add(caller, begin));
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** The place is handed on, so that nobody takes it in between. */
  #next(): void {
    const begin = this.#waiting.next();
    if (begin === undefined) this.#isBusy = false;
    else begin();
  }
}
