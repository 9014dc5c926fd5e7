/**
 * MemoryPool: limit on the memory that all statements of a process use together.
 *
 * Limits per statement alone would let many statements together exhaust the memory. A statement
 * that needs more than is left is refused and may be retried; running statements keep their share.
 */

import { assert, PeerError } from "@bigpeer/protocol";

export class MemoryPool {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes all of it, or throws `query.busy` and takes nothing. */
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
