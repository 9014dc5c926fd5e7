/**
 * Reading line: messages that take long to read, of all connections, one after the other and in turns
 * with everything else. One at a time, because what is half read takes up memory: a message of millions
 * of numbers ten times its size.
 */

interface Waiting {
  /** Whether somebody still wants it. */
  readonly isWanted: () => boolean;
  /** Reads it to its end, or until nobody wants it. Never rejects. */
  readonly read: () => Promise<void>;
  readonly forget: () => void;
}

export class ReadingLine {
  readonly #pause: () => Promise<void>;
  #waiting: Waiting[] = [];
  #isReading = false;

  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  /** Undefined when nobody wants it any more. Rejects with what reading it throws. */
  read<T>(turns: Generator<void, T>, isWanted: () => boolean): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const read = (): Promise<void> => this.#readOn(turns, isWanted).then(resolve, reject);
      this.#forgetUnwanted();
      this.#waiting.push({ isWanted, read, forget: () => resolve(undefined) });
      if (!this.#isReading) void this.#readAll();
    });
  }

  /** Those who come and go must not leave behind what they sent until it would be its turn. */
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

  async #readOn<T>(turns: Generator<void, T>, isWanted: () => boolean): Promise<T | undefined> {
    while (isWanted()) {
      await this.#pause();
      const { done, value } = turns.next();
      if (done === true) return value;
    }
    return undefined;
  }
}
