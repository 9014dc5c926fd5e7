/**
 * Loop share: a time slice of each pass of the event loop that all long-running work shares.
 *
 * Work in slices of its own lets other code run, but the slices of many add up. Here they share one
 * slice. Work that starts when it is used up, or is not done by then, waits for a later pass, one
 * after the other.
 */

/** Time slice of long work in each pass. */
const LONG_WORK_MS = 10;

export class LoopShare {
  readonly #sliceMs: number;
  readonly #waiting: ((endMs: number) => void)[] = [];
  /** End of the current slice; undefined when none has begun. */
  #endMs: number | undefined;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /** Returns the time until which new work may run: at least `graceMs`, whatever others used. */
  begin(graceMs = 0): number {
    const nowMs = performance.now();
    if (this.#endMs === undefined) {
      this.#endMs = nowMs + this.#sliceMs;
      // The first immediate may still be in this pass.
      setImmediate(() => setImmediate(() => this.#pass()));
    }
    return Math.max(this.#endMs, nowMs + Math.min(graceMs, this.#sliceMs));
  }

  /** Whether work may begin or continue now. */
  hasTime(): boolean {
    const endMs = this.begin();
    return performance.now() < endMs;
  }

  /** Resolves in a later pass, in turn, with the time until which to continue. */
  turn(): Promise<number> {
    return new Promise((resolve) => this.wait(resolve));
  }

  /** The same for a callback that runs synchronously. */
  wait(work: (endMs: number) => void): void {
    this.begin();
    this.#waiting.push(work);
  }

  #pass(): void {
    const work = this.#waiting.shift();
    if (work === undefined) {
      this.#endMs = undefined;
      return;
    }
    setImmediate(() => this.#pass());
    this.#endMs = performance.now() + this.#sliceMs;
    work(this.#endMs);
  }
}

/** Shared by all long decoding and encoding of bodies and answers: there is one event loop. */
export const LONG_WORK: LoopShare = new LoopShare(LONG_WORK_MS);
