/**
 * CommitMemory: the memory that the transactions of a process hold until they are durable.
 *
 * A transaction is in memory as a whole: documents before and after, keys, its log record, and the pages
 * that the storage writes. Small ones are not counted. Of the others the oldest may grow up to a bound;
 * all younger ones together have a smaller one, and wait until an older one is durable. The oldest never
 * waits, so there is no deadlock, however many stores share the memory.
 */

import { assert, PeerError } from "@bigpeer/protocol";
import { TRANSACTION_BYTES_MAX, YOUNGER_TRANSACTIONS_BYTES_MAX } from "../limits.ts";

export interface CommitBounds {
  /** Bytes of one transaction. */
  readonly oneMax: number;
  /** Bytes of all but the oldest together. */
  readonly youngerMax: number;
}

const BOUNDS: CommitBounds = {
  oneMax: TRANSACTION_BYTES_MAX,
  youngerMax: YOUNGER_TRANSACTIONS_BYTES_MAX,
};

/** Up to this a transaction is not counted: most are far smaller, and there are many of them. */
export const UNCOUNTED_BYTES: number = 1024 * 1024;

export class CommitMemory {
  readonly #bounds: CommitBounds;
  /** The shares that are counted, the oldest first. */
  readonly #shares = new Set<CommitShare>();
  #bytes = 0;
  #wake: (() => void) | undefined;
  #freed: Promise<void> | undefined;

  constructor(bounds: CommitBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** What is counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when some of it is given back. */
  whenFreed(): Promise<void> {
    this.#freed ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#freed;
  }

  /** The memory of one transaction, of which nothing is taken yet. */
  share(): CommitShare {
    return new CommitShare(this);
  }

  /** For a share that wants to have `bytes` in all. */
  hasRoomFor(share: CommitShare, bytes: number): boolean {
    const { oneMax, youngerMax } = this.#bounds;
    if (bytes > oneMax) throw tooLarge(oneMax);
    const [oldest] = this.#shares;
    if (oldest === undefined || oldest === share) return true;
    return this.#bytes - oldest.bytes - share.bytes + bytes <= youngerMax;
  }

  /** A share has changed by `bytes`, or ends when it has none. */
  count(share: CommitShare, bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, "memory that was taken before");
    if (share.bytes > 0) this.#shares.add(share);
    else this.#shares.delete(share);
    if (bytes >= 0) return;
    this.#wake?.();
    this.#wake = undefined;
    this.#freed = undefined;
  }
}

/** What one transaction, or a group of them, holds of it. */
export class CommitShare {
  readonly #memory: CommitMemory;
  #bytes = 0;

  constructor(memory: CommitMemory) {
    this.#memory = memory;
  }

  /** What is counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether there is room for `bytes` in all, which are taken then. Throws `operation.refused` when no
   * transaction may have so much.
   */
  tryTake(bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES || bytes <= this.#bytes) return true;
    if (!this.#memory.hasRoomFor(this, bytes)) return false;
    this.take(bytes);
    return true;
  }

  /** The same where nobody can wait any more. */
  take(bytes: number): void {
    if (bytes <= UNCOUNTED_BYTES || bytes <= this.#bytes) return;
    const more = bytes - this.#bytes;
    this.#bytes = bytes;
    this.#memory.count(this, more);
  }

  /** Gives all of it back. */
  give(): void {
    const bytes = this.#bytes;
    if (bytes === 0) return;
    this.#bytes = 0;
    this.#memory.count(this, -bytes);
  }
}

function tooLarge(bytesMax: number): PeerError {
  const message = `expected a transaction of at most ${bytesMax} bytes in memory, found more; write in several`;
  return new PeerError("operation.refused", message);
}
