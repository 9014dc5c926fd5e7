/**
 * Byte budget: a count of bytes with a maximum, shared by many requests: for bodies that have
 * arrived, or long answers that clients have not taken yet.
 */

export class ByteBudget {
  readonly #sizeMax: number;
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Bytes in use. */
  get size(): number {
    return this.#size;
  }

  /** Reserves `size` bytes; returns false, and reserves nothing, beyond the maximum. */
  take(size: number): boolean {
    if (this.#size + size > this.#sizeMax) return false;
    this.#size += size;
    return true;
  }

  /** Counts bytes that are already in memory, even beyond the maximum. */
  force(size: number): void {
    this.#size += size;
  }

  give(size: number): void {
    this.#size -= size;
  }
}
