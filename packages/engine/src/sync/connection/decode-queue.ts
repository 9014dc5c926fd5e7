/**
 * Decode queue: decodes long messages of all connections one after the other, in slices between
 * other work (S64). It decodes one at a time, because a partly decoded message takes memory: ten
 * times its size if it has millions of numbers.
 */

interface Waiting {
  /** Whether the message is still needed. */
  readonly isWanted: () => boolean;
  /** Decodes it to its end, or until it is not needed. Never rejects. */
  readonly read: () => Promise<void>;
  readonly forget: () => void;
}

export class DecodeQueue {
  readonly #pause: () => Promise<void>;
  #waiting: Waiting[] = [];
  #isReading = false;

  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  /** Undefined if the message is no longer needed. Rejects with the error of the decoder. */
  read<T>(slicer: Generator<void, T>, isWanted: () => boolean): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const read = (): Promise<void> => this.#readOn(slicer, isWanted).then(resolve, reject);
      this.#forgetUnwanted();
      this.#waiting.push({ isWanted, read, forget: () => resolve(undefined) });
      if (!this.#isReading) void this.#readAll();
    });
  }

  /** A closed connection must not leave its message in memory until its turn. */
  #forgetUnwanted(): void {
    if (this.#waiting.every(({ isWanted }) => isWanted())) return;
    const before = this.#waiting;
    this.#waiting = before.filter(({ isWanted }) => isWanted());
    for (const { isWanted, forget } of before) if (!isWanted()) forget();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await next.read();
    }
    this.#isReading = false;
  }

  async #readOn<T>(slicer: Generator<void, T>, isWanted: () => boolean): Promise<T | undefined> {
    while (isWanted()) {
      await this.#pause();
      const { done, value } = slicer.next();
      if (done === true) return value;
    }
    return undefined;
  }
}
