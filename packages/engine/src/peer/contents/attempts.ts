/**
 * Attempts: when a transfer that failed is tried again. The wait grows while nothing arrives, as
 * between connections (S8).
 */

import type { Platform } from "../../platform.ts";
import { waitOf } from "../back-off.ts";

interface Failed {
  readonly failures: number;
  /** On the clock of `elapsed`. */
  readonly nextMs: number;
}

export class Attempts {
  readonly #platform: Pick<Platform, "elapsed" | "random">;
  readonly #failed = new Map<string, Failed>();

  constructor(platform: Pick<Platform, "elapsed" | "random">) {
    this.#platform = platform;
  }

  isDue(id: string): boolean {
    const failed = this.#failed.get(id);
    return failed === undefined || failed.nextMs <= this.#platform.elapsed();
  }

  /** Milliseconds until the first of these is due; undefined if none waits. */
  nextIn(ids: Iterable<string>): number | undefined {
    let next: number | undefined;
    for (const id of ids) {
      const failed = this.#failed.get(id);
      if (failed !== undefined) next = Math.min(next ?? Number.POSITIVE_INFINITY, failed.nextMs);
    }
    return next === undefined ? undefined : Math.max(0, next - this.#platform.elapsed());
  }

  /** An attempt failed. If it got further, the next one comes at once. */
  fail(id: string, hadProgress: boolean, afterMs: number): void {
    const failures = hadProgress ? 0 : (this.#failed.get(id)?.failures ?? 0) + 1;
    const [a = 0, b = 0, c = 0, d = 0] = this.#platform.random(4);
    const chance = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
    const waitMs = Math.max(afterMs, waitOf(failures, chance));
    this.#failed.set(id, { failures, nextMs: this.#platform.elapsed() + waitMs });
  }

  /** How often it failed without progress. */
  failuresOf(id: string): number {
    return this.#failed.get(id)?.failures ?? 0;
  }

  forget(id: string): void {
    this.#failed.delete(id);
  }

  /** All are due: the connection is back. */
  hurry(): void {
    for (const [id, { failures }] of this.#failed) this.#failed.set(id, { failures, nextMs: 0 });
  }
}
