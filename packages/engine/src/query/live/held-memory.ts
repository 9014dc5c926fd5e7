/**
 * HeldMemory: what live queries hold between commits, counted.
 *
 * Unlike the memory of a statement it stays taken, so it has bounds of its own: one for a query and
 * one for all of a store. Whoever would hold more is refused.
 */

import { PeerError } from "@bigpeer/protocol";

export interface HeldLimits {
  /** What one query may hold. */
  readonly queryBytes: number;
  /** What all of them may hold. */
  readonly bytes: number;
}

export class HeldMemory {
  readonly #limits: HeldLimits;
  #bytes = 0;

  constructor(limits: HeldLimits) {
    this.#limits = limits;
  }

  /** What is held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A query that held `from` bytes holds `to` now, or is refused and holds what it held. */
  resize(from: number, to: number): void {
    const { queryBytes, bytes } = this.#limits;
    if (to > queryBytes) {
      const message = `a live query would hold more than ${queryBytes} bytes; narrow it with WHERE or LIMIT`;
      throw new PeerError("query.too_large", message);
    }
    if (to > from && this.#bytes - from + to > bytes) {
      const message = `all live queries together would hold more than ${bytes} bytes; try again later`;
      throw new PeerError("query.busy", message);
    }
    this.#bytes += to - from;
  }
}
