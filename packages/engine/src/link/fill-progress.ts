/**
 * Fill progress: tracks up to which id a fill of a followed query is merged, so that an interrupted
 * fill continues there (S88).
 *
 * Each piece names the transaction as of which all ids up to its end were sent. Its mark is valid
 * once everything before it is durable, and everything requested because of it. So a mark waits for
 * the last inbound batch that it depends on.
 */

import type { Value } from "@bigpeer/protocol";

/** All ids up to and including `after` are merged, as of `txn` of the source or later. */
export interface FillMark {
  readonly after: Value;
  readonly txn: number;
}

interface NotedMark extends FillMark {
  /** Order of the last inbound batch that the mark depends on. */
  readonly behind: number;
}

export class FillProgress {
  #noted: NotedMark[] = [];
  #reached: FillMark | undefined;
  #isStopped = false;
  /** Documents of pieces that were merged since a cursor was written. */
  documents = 0;

  /** Adds a mark that is valid when all inbound batches up to and including `behind` are merged. */
  note(mark: FillMark, behind: number): void {
    if (!this.#isStopped) this.#noted.push({ ...mark, behind });
  }

  /** The last valid mark if all inbound batches before `open` are merged. */
  before(open: number): FillMark | undefined {
    const i = this.#countBefore(open) - 1;
    return this.#noted[i] ?? this.#reached;
  }

  /** All inbound batches before `open` are merged. */
  advance(open: number): void {
    const marks = this.#noted.splice(0, this.#countBefore(open));
    this.#reached = marks.at(-1) ?? this.#reached;
  }

  /** The fill is complete: its marks are not needed. */
  clear(): void {
    this.#noted = [];
    this.#reached = undefined;
  }

  /** A part of the fill cannot be merged: no later mark becomes valid. */
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
