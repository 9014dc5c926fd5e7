/**
 * Progress: the last durable transaction of a store, and the promises that wait for a later one.
 *
 * Waiters are sorted by transaction, so that each advance looks only at those that it settles.
 * There is no timeout: the engine has no timers, and the caller cancels.
 */

import { PeerError } from "@bigpeer/protocol";

export interface Wait {
  /** True when the transaction is durable, false after cancel(). Rejects with `store.closed`. */
  readonly promise: Promise<boolean>;
  /** Ends the wait and removes it. Does nothing when it is over. */
  cancel(): void;
}

interface Waiter {
  readonly txnId: number;
  /** Distinguishes waiters for the same transaction. */
  readonly number: number;
  readonly resolve: (isReached: boolean) => void;
  readonly reject: (error: PeerError) => void;
}

export class Progress {
  #txnId: number;
  #isEnded = false;
  #waiters: Waiter[] = [];
  #numbers = 0;

  constructor(txnId: number) {
    this.#txnId = txnId;
  }

  /** The last transaction that is known to be durable. */
  get txnId(): number {
    return this.#txnId;
  }

  get waiterCount(): number {
    return this.#waiters.length;
  }

  /** Notes that a transaction is durable, and all before it. */
  reach(txnId: number): void {
    if (txnId <= this.#txnId) return;
    this.#txnId = txnId;
    if (this.#waiters.length === 0) return;
    const count = this.#placeOf(txnId, Number.POSITIVE_INFINITY);
    for (const waiter of this.#waiters.splice(0, count)) waiter.resolve(true);
  }

  whenReached(txnId: number): Wait {
    if (txnId <= this.#txnId) return { promise: Promise.resolve(true), cancel: () => {} };
    if (this.#isEnded) return { promise: Promise.reject(closedError()), cancel: () => {} };
    const number = this.#numbers++;
    const promise = new Promise<boolean>((resolve, reject) => {
      const place = this.#placeOf(txnId, number);
      this.#waiters.splice(place, 0, { txnId, number, resolve, reject });
    });
    return { promise, cancel: () => this.#cancel(txnId, number) };
  }

  /** Rejects all waiters: nothing more will become durable. */
  end(): void {
    this.#isEnded = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(closedError());
  }

  #cancel(txnId: number, number: number): void {
    const place = this.#placeOf(txnId, number);
    const waiter = this.#waiters[place];
    if (waiter?.number !== number) return;
    this.#waiters.splice(place, 1);
    waiter.resolve(false);
  }

  /** How many waiters are before this one. */
  #placeOf(txnId: number, number: number): number {
    let low = 0;
    let high = this.#waiters.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const waiter = this.#waiters[middle] as Waiter;
      const isBefore = waiter.txnId < txnId || (waiter.txnId === txnId && waiter.number < number);
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function closedError(): PeerError {
  return new PeerError("store.closed", "the store is closed");
}
