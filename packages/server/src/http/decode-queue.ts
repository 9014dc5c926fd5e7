/**
 * Decode queue: bodies that take long to decode, one at a time, because what is half decoded takes
 * memory, and in turn for each caller, so that many bodies of one do not hold up the others.
 */

interface Waiting {
  readonly start: () => void;
}

export class DecodeQueue {
  /** In the order in which callers come next; none without anything that waits. */
  readonly #waiting = new Map<string, Waiting[]>();
  #isBusy = false;

  /** The result of `work`, which begins when it is its turn. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await this.#turnOf(caller);
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turnOf(caller: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(caller);
      if (waiting === undefined) this.#waiting.set(caller, [{ start: resolve }]);
      else waiting.push({ start: resolve });
    });
  }

  /** The place is handed on, so that nobody takes it in between. */
  #next(): void {
    for (const [caller, waiting] of this.#waiting) {
      this.#waiting.delete(caller);
      const [first, ...others] = waiting;
      if (others.length > 0) this.#waiting.set(caller, others);
      first?.start();
      return;
    }
    this.#isBusy = false;
  }
}
