/**
 * Reading line: messages that take long to read, of all connections, one after the other and in turns
 * with everything else. One at a time, because what is half read takes up memory: a message of millions
 * of numbers ten times its size.
 */

export class ReadingLine {
  readonly #pause: () => Promise<void>;
  /** Ends when the last in the line was read. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  /** Undefined when nobody wants it any more. Rejects with what reading it throws. */
  read<T>(turns: Generator<void, T>, isWanted: () => boolean): Promise<T | undefined> {
    const read = this.#last.then(() => this.#readOn(turns, isWanted));
    this.#last = read.catch(() => undefined);
    return read;
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
