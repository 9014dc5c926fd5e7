/**
 * Snapshot reader: runs long reads of the store in slices, between other work.
 */

import type { Platform } from "../../platform.ts";
import { Budget } from "../../query/frame/budget.ts";
import type { Steps } from "../../query/frame/steps.ts";
import { TimeSlicer } from "../../query/run/time-slicer.ts";
import type { Store, StoreSnapshot } from "../../store/store.ts";

const NOTHING_HELD = { close: (): void => undefined };

export class SnapshotReader {
  readonly #store: Store;
  readonly #slicer: TimeSlicer;
  readonly #budget: Budget;

  constructor(store: Store, platform: Platform) {
    const elapsed = (): number => platform.elapsed();
    this.#store = store;
    this.#slicer = new TimeSlicer(() => platform.pause(), elapsed);
    this.#budget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: Infinity });
  }

  /** Reads from one snapshot, and closes the snapshot in any case. */
  async read<T>(work: (snapshot: StoreSnapshot) => Steps<T>): Promise<T> {
    const snapshot = this.#store.snapshot();
    let steps: Steps<T>;
    try {
      steps = work(snapshot);
    } catch (error) {
      snapshot.close();
      throw error;
    }
    return this.#slicer.take(steps, this.#budget, snapshot);
  }

  /** Does work that needs no snapshot. */
  run(work: Steps<void>): Promise<void> | void {
    return this.#slicer.take(work, this.#budget, NOTHING_HELD);
  }
}
