/**
 * Repeated pass: work in the background, at the start and every hour. A pass that takes longer than
 * that is not joined by a second one.
 */

export const HOUR_MS = 3_600_000;

/** Must not reject; looks at `isStopped` between its pieces. */
export type Pass = (isStopped: () => boolean) => Promise<void>;

export class RepeatedPass {
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

  /** Begins no further pass; resolves when the one that is under way is over. */
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
