/**
 * MemoryPool: the memory that all statements of a process share.
 *
 * A bound for each statement alone would let many of them together take all there is. Whoever needs
 * more than is left is refused and may try again; those that have their share go on.
 */

import { assert, PeerError } from "@bigpeer/protocol";

export class MemoryPool {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What is taken now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes all of it or, with `query.busy`, nothing. */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax) {
      const message = `all statements together need more than ${this.#bytesMax} bytes of memory; try again later`;
      throw new PeerError("query.busy", message);
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    assert(bytes <= this.#bytes, "memory that was taken before");
    this.#bytes -= bytes;
  }
}
