/**
 * Answer room: the memory of long answers that their clients have not taken yet, over all
 * connections. Whoever asks for much and reads nothing must not take it from everybody else.
 */

export class AnswerRoom {
  readonly #sizeMax: number;
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** False when there is no room for it; then nothing is taken. */
  take(size: number): boolean {
    if (this.#size + size > this.#sizeMax) return false;
    this.#size += size;
    return true;
  }

  give(size: number): void {
    this.#size -= size;
  }
}
