/**
 * Periodic task: runs background work at the start and every hour. Runs never overlap.
 */

export const HOUR_MS = 3_600_000;

/** Must not reject; checks `isStopped` between its steps. */
export type Pass = (isStopped: () => boolean) => Promise<void>;

export class PeriodicTask {
  readonly #work: Pass;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(work: Pass, everyMs: number = HOUR_MS) {
    this.#work = work;
    this.#timer = setInterval(() => this.#begin(), everyMs);
    this.#timer.unref();
    this.#begin();
  }

  /** Starts no further run; resolves when the one in progress is done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  #begin(): void {
    this.#running ??= this.#work(() => this.#isStopped).finally(() => {
      this.#running = undefined;
    });
  }
}
