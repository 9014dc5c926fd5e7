/**
 * Byte room: memory that many requests share, in bytes: of bodies that came, or of long answers that
 * their clients have not taken yet. Whoever uses much of it must not take it from everybody else.
 */

export class ByteRoom {
  readonly #sizeMax: number;
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** What is taken. */
  get size(): number {
    return this.#size;
  }

  /** False when there is no room for it; then nothing is taken. */
  take(size: number): boolean {
    if (this.#size + size > this.#sizeMax) return false;
    this.#size += size;
    return true;
  }

  /** Takes it whether there is room or not: for what is there already. */
  force(size: number): void {
    this.#size += size;
  }

  give(size: number): void {
    this.#size -= size;
  }
}
