/**
 * CommitMemory: the memory budget of all transactions of a process until they are durable (K76).
 *
 * A transaction is in memory as a whole: documents before and after, keys, its log record, and the
 * pages that the storage writes. Small ones are not counted. The oldest counted transaction may
 * grow up to one bound. All younger ones together have a smaller bound, and wait until an older one
 * is durable. The oldest never waits, so there is no deadlock, however many stores share the
 * memory.
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

/** A transaction up to this size is not counted: most are far smaller, and many. */
export const UNCOUNTED_BYTES: number = 1024 * 1024;

export class CommitMemory {
  readonly #bounds: CommitBounds;
  /** The counted shares, the oldest first. */
  readonly #shares = new Set<CommitShare>();
  #bytes = 0;
  #wake: (() => void) | undefined;
  #freed: Promise<void> | undefined;

  constructor(bounds: CommitBounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Bytes counted now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when some memory is given back. */
  whenFreed(): Promise<void> {
    this.#freed ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    return this.#freed;
  }

  /** A new, empty share for one transaction. */
  share(): CommitShare {
    return new CommitShare(this);
  }

  /** Whether the share may grow to `bytes` in all. */
  hasRoomFor(share: CommitShare, bytes: number): boolean {
    const { oneMax, youngerMax } = this.#bounds;
    if (bytes > oneMax) throw tooLarge(oneMax);
    const [oldest] = this.#shares;
    if (oldest === undefined || oldest === share) return true;
    return this.#bytes - oldest.bytes - share.bytes + bytes <= youngerMax;
  }

  /** Changes the total by `bytes`; a share without bytes leaves the list. */
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

/** The memory that one transaction, or a group of them, holds. */
export class CommitShare {
  readonly #memory: CommitMemory;
  #bytes = 0;

  constructor(memory: CommitMemory) {
    this.#memory = memory;
  }

  /** Bytes counted for this share. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Takes `bytes` in all, if there is room for them; else returns false. Throws `operation.refused`
   * when no transaction may have that much.
   */
  tryTake(bytes: number): boolean {
    if (bytes <= UNCOUNTED_BYTES || bytes <= this.#bytes) return true;
    if (!this.#memory.hasRoomFor(this, bytes)) return false;
    this.take(bytes);
    return true;
  }

  /** As tryTake, where the transaction can no longer wait. */
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
