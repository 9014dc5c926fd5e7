/**
 * Maintenance: lets every store forget what its retention allows, at the start and every hour.
 *
 * It works in the background and in bounded transactions of the stores themselves. What fails is
 * logged and tried again an hour later.
 */

import { PeerError } from "@bigpeer/protocol";
import { describeError, type Log } from "./log.ts";
import type { StoreFolder } from "./store-folder.ts";

const HOUR_MS = 3_600_000;

export class Maintenance {
  readonly #stores: readonly StoreFolder[];
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  #isRunning = false;
  #isStopped = false;

  constructor(stores: readonly StoreFolder[], log: Log, everyMs: number = HOUR_MS) {
    this.#stores = stores;
    this.#log = log;
    this.#timer = setInterval(() => this.#begin(), everyMs);
    this.#timer.unref();
    this.#begin();
  }

  /** Begins no further pass. One that is under way ends when its store is closed. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #begin(): void {
    // A pass that takes longer than the interval is not joined by a second one.
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  async #run(): Promise<void> {
    for (const opened of this.#stores) {
      if (this.#isStopped) return;
      try {
        await opened.store.maintain();
        if (!this.#isStopped) opened.recordLife();
      } catch (error) {
        if (this.#isStopped && error instanceof PeerError && error.code === "store.closed") return;
        this.#log("error", `maintenance of ${opened.folder} failed: ${describeError(error)}`);
      }
    }
  }
}
