/**
 * HeldMemory: limits on the memory that live queries hold between commits.
 *
 * Unlike the memory of a statement it stays in use, so it has limits of its own: one for a query
 * and one for all queries of a store. A query that would exceed one fails, also when its rows grow
 * later.
 */

import { PeerError } from "@bigpeer/protocol";

export interface HeldLimits {
  /** Limit for one query. */
  readonly queryBytes: number;
  /** Limit for all queries together. */
  readonly bytes: number;
}

export class HeldMemory {
  readonly #limits: HeldLimits;
  #bytes = 0;

  constructor(limits: HeldLimits) {
    this.#limits = limits;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Changes the bytes of a query; beyond a limit it throws and changes nothing. */
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
