/**
 * Turns: reads that are at work at the same time go one after the other, a slice each, and everything
 * else has its turn between any two slices.
 */

export class Turns {
  readonly #pause: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];
  #isGoing = false;

  /** `pause` lets everything else that waits have its turn. */
  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
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
