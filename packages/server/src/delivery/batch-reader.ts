/**
 * Batch reader: cuts the changes of an app into batches for deliveries. A batch is bounded by the
 * number of its changes and by their bytes; it does not wait to become full.
 */

import type { ChangeBatch, ChangeReader, FeedLine } from "@bigpeer/engine/changes";
import { DELIVERY_CHANGES_MAX, DELIVERY_SIZE_MAX } from "../limits/limits.ts";
import type { ChangeEvent } from "../registry/destination.ts";
import { isAfter } from "./delivery-journal.ts";
import type { PlacedChange } from "./sender.ts";

/** Resolves after a time, or when the signal aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export interface Batch {
  /** Empty when nothing arrived in time, or nothing that is wanted. */
  readonly changes: readonly PlacedChange[];
  /** Position after the batch. */
  readonly cursor: string;
  /** Whether there was nothing behind it. */
  readonly isCurrent: boolean;
}

export interface BatchOptions {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** The batch ends at this position: it is sent again. */
  readonly to?: string | undefined;
}

export class BatchReader {
  readonly #reader: ChangeReader;
  readonly #events: readonly ChangeEvent[] | undefined;
  readonly #sleep: Sleep;
  /** Lines that were read and are in no batch. */
  #pending: readonly FeedLine[] = [];
  #next = 0;
  /** Position after the pending lines. */
  #cursor: string;
  /** Whether nothing was behind the pending lines. */
  #isCurrent = false;

  constructor(
    reader: ChangeReader,
    {
      events,
      sleep,
    }: { readonly events?: readonly ChangeEvent[] | undefined; readonly sleep: Sleep },
  ) {
    this.#reader = reader;
    this.#events = events;
    this.#sleep = sleep;
    this.#cursor = reader.cursor;
  }

  /** Rejects as ChangeReader.next does. */
  async next({ waitMs, signal, to }: BatchOptions): Promise<Batch> {
    const changes: PlacedChange[] = [];
    let size = 0;
    let hasRead = false;
    for (;;) {
      for (const line of this.#lines()) {
        if (to !== undefined && isAfter(line.cursor, to)) {
          // The change at the position is not there any more: this one is of the next batch.
          this.#next--;
          return { changes, cursor: to, isCurrent: false };
        }
        if (this.#isWanted(line)) {
          changes.push(line);
          size += line.json.length;
        }
        const isFull = changes.length === DELIVERY_CHANGES_MAX || size >= DELIVERY_SIZE_MAX;
        const isEnd = to === undefined ? isFull : line.cursor === to;
        if (isEnd) return { changes, cursor: line.cursor, isCurrent: false };
      }
      // Where none is wanted, the caller gets to know the position.
      const isEnough = to === undefined && (hasRead || changes.length > 0);
      if (isEnough || signal.aborted) return this.#whole(changes);
      const batch = await this.#read(waitMs, signal);
      this.#pending = batch.lines;
      this.#next = 0;
      this.#cursor = batch.cursor;
      this.#isCurrent = batch.isCurrent;
      // A batch that is sent again ends at its mark, however long the search for it is.
      const isOver = to === undefined || batch.isCurrent;
      if (batch.lines.length === 0 && isOver) return this.#whole(changes);
      hasRead = true;
    }
  }

  /** The next lines; none when the time is over or the signal aborts. */
  async #read(waitMs: number, signal: AbortSignal): Promise<ChangeBatch> {
    const reader = this.#reader;
    // AbortSignal.any would keep each reading of a long delivery in memory.
    const ending = new AbortController();
    const end = (): void => {
      ending.abort();
      // Also one that does not wait yet: it ends at the next call.
      reader.close();
    };
    signal.addEventListener("abort", end);
    const wakeAgain = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        await this.#sleep(waitMs, ending.signal);
        if (!ending.signal.aborted) reader.wake();
      }
    };
    void wakeAgain();
    try {
      return await reader.next({ length: DELIVERY_SIZE_MAX });
    } finally {
      ending.abort();
      signal.removeEventListener("abort", end);
    }
  }

  /** All lines that were read are in the batch. */
  #whole(changes: readonly PlacedChange[]): Batch {
    return { changes, cursor: this.#cursor, isCurrent: this.#isCurrent };
  }

  *#lines(): Generator<FeedLine> {
    for (;;) {
      const line = this.#pending[this.#next];
      if (line === undefined) return;
      this.#next++;
      yield line;
    }
  }

  #isWanted(line: FeedLine): line is PlacedChange {
    const { change } = line;
    return change !== undefined && (this.#events?.includes(change.type) ?? true);
  }
}
