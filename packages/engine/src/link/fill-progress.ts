/**
 * Fill progress: how far a fill of a followed query is merged, so that one that is cut goes on there
 * (S54).
 *
 * The source says with each piece as of when all up to its end was told. That holds here once
 * everything that came before it is durable as well, and what was asked for because of it. So it is
 * noted behind the last parcel that has to be.
 */

import type { Value } from "@bigpeer/protocol";

/** Up to and with an id all is merged, as of a transaction of the source or later. */
export interface FillMark {
  readonly after: Value;
  readonly txn: number;
}

interface NotedMark extends FillMark {
  /** The order of the parcel. */
  readonly behind: number;
}

export class FillProgress {
  #noted: NotedMark[] = [];
  #reached: FillMark | undefined;
  #isStopped = false;
  /** Documents that came in pieces since a cursor was written. */
  documents = 0;

  /** Holds when all parcels up to and with this one are merged. */
  note(mark: FillMark, behind: number): void {
    if (!this.#isStopped) this.#noted.push({ ...mark, behind });
  }

  /** How far it is when all parcels before `open` are merged. */
  before(open: number): FillMark | undefined {
    const i = this.#countBefore(open) - 1;
    return this.#noted[i] ?? this.#reached;
  }

  /** All parcels before `open` are merged. */
  advance(open: number): void {
    const marks = this.#noted.splice(0, this.#countBefore(open));
    this.#reached = marks.at(-1) ?? this.#reached;
  }

  /** It is whole: what was noted is of no use. */
  clear(): void {
    this.#noted = [];
    this.#reached = undefined;
  }

  /** Something of it cannot be merged: it goes no further. */
  stop(): void {
    this.#noted = [];
    this.#isStopped = true;
  }

  #countBefore(open: number): number {
    let count = 0;
    for (const { behind } of this.#noted) {
      if (behind >= open) break;
      count++;
    }
    return count;
  }
}
