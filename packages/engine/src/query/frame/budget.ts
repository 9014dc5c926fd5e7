/**
 * Budget: what one statement may use of time and memory.
 *
 * Every loop whose length comes from outside calls `step`, everything that grows calls `take`, or
 * `borrow` when it is garbage after its row.
 * Looking at the clock costs more than a step, so it is looked at once for many of them.
 */

import { PeerError } from "@bigpeer/protocol";

const STEPS_PER_LOOK = 512;

export interface BudgetOptions {
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number;
  readonly timeMsMax: number;
  readonly bytesMax: number;
}

export class Budget {
  readonly #elapsed: () => number;
  readonly #timeMsMax: number;
  readonly #endMs: number;
  readonly #bytesMax: number;
  #bytes = 0;
  #borrowed = 0;
  #steps = 0;
  #work = 0;
  #cancelled: string | undefined;

  constructor({ elapsed, timeMsMax, bytesMax }: BudgetOptions) {
    this.#elapsed = elapsed;
    this.#timeMsMax = timeMsMax;
    this.#endMs = elapsed() + timeMsMax;
    this.#bytesMax = bytesMax;
  }

  /** Steps so far. */
  get work(): number {
    return this.#work;
  }

  /** Counts a piece of work, about as much as looking at one document. */
  step(steps: number = 1): void {
    this.#work += steps;
    this.#steps += steps;
    if (this.#steps >= STEPS_PER_LOOK) this.look();
  }

  /** Throws `query.timeout` when the time is over or the request was cancelled. */
  look(): void {
    this.#steps = 0;
    if (this.#cancelled !== undefined) throw new PeerError("query.timeout", this.#cancelled);
    if (this.#elapsed() < this.#endMs) return;
    const message = `the statement took longer than ${this.#timeMsMax} ms and was stopped`;
    throw new PeerError("query.timeout", message);
  }

  /** Counts memory that stays taken until the statement ends. */
  take(bytes: number): void {
    this.#bytes += bytes;
    this.#checkBytes();
  }

  /** Counts memory that is free again when the row at hand is done. */
  borrow(bytes: number): void {
    this.#borrowed += bytes;
    this.#checkBytes();
  }

  /** The row at hand is done: what it borrowed is garbage. */
  endRow(): void {
    this.#borrowed = 0;
  }

  #checkBytes(): void {
    if (this.#bytes + this.#borrowed <= this.#bytesMax) return;
    const message = `the statement needs more than ${this.#bytesMax} bytes of memory; narrow it with WHERE or LIMIT`;
    throw new PeerError("query.too_large", message);
  }

  /** What was taken is free again: the statement begins anew. The time goes on. */
  release(): void {
    this.#bytes = 0;
    this.#borrowed = 0;
  }

  cancel(reason: string): void {
    this.#cancelled ??= reason;
  }
}
