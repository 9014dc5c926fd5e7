/**
 * Loop share: how much of each pass of the event loop those may have together whose work takes long.
 *
 * Who works in slices of his own lets everything else go on; many who do so at the same time do not,
 * because their slices add up. Here they have one slice together: whoever comes when it is used up,
 * and whoever is not done when it is, waits for a later pass, one after the other.
 */

/** What long work has of each pass. */
const LONG_WORK_MS = 10;

export class LoopShare {
  readonly #sliceMs: number;
  readonly #waiting: ((endMs: number) => void)[] = [];
  /** When the slice is used up; undefined when nobody has begun one. */
  #endMs: number | undefined;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /** Until when whoever begins now may go on; at least for `graceMs`, whatever others have used. */
  begin(graceMs = 0): number {
    const nowMs = performance.now();
    if (this.#endMs === undefined) {
      this.#endMs = nowMs + this.#sliceMs;
      // The first of them may still be in this pass.
      setImmediate(() => setImmediate(() => this.#pass()));
    }
    return Math.max(this.#endMs, nowMs + Math.min(graceMs, this.#sliceMs));
  }

  /** Whether somebody may begin, or go on. */
  hasTime(): boolean {
    const endMs = this.begin();
    return performance.now() < endMs;
  }

  /** Resolves in a later pass, when it is one's turn: with the time until which to go on. */
  turn(): Promise<number> {
    return new Promise((resolve) => this.wait(resolve));
  }

  /** The same for work that is done at once when it is called. */
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

/** For answers that are written, and whatever else of them takes long: there is one event loop. */
export const LONG_WORK: LoopShare = new LoopShare(LONG_WORK_MS);
