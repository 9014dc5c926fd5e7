/**
 * LogReach: whether this node reaches the log of its cluster. A node that does not may be behind:
 * it shows its age, and after a while it serves nothing, because a credential may have been revoked.
 */

import type { SharedLog } from "@bigpeer/engine/cluster";

/** How often the log is asked, and from which age on it is shown. */
const PROBE_MS = 2_000;
const AGE_SHOWN_MS = 10_000;

export interface LogReachHost {
  readonly log: Pick<SharedLog, "end">;
  readonly elapsed: () => number;
  readonly cutOffMs: number;
  /** Called when it is cut off, and when it is no longer. */
  readonly onChange: (isCutOff: boolean) => void;
}

export class LogReach {
  readonly #host: LogReachHost;
  readonly #timer: NodeJS.Timeout;
  /** When the log was last reached. */
  #reachedMs: number;
  #isCutOff = false;

  constructor(host: LogReachHost) {
    this.#host = host;
    this.#reachedMs = host.elapsed();
    this.#timer = setInterval(() => void this.#probe(), PROBE_MS);
    this.#timer.unref();
  }

  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  get ageMs(): number {
    return this.#host.elapsed() - this.#reachedMs;
  }

  /** In seconds; undefined while the node is in touch. */
  get shownAge(): number | undefined {
    const { ageMs } = this;
    return ageMs < AGE_SHOWN_MS ? undefined : Math.floor(ageMs / 1000);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Asks the leader of the log, which answers only with a majority of the servers. */
  async #probe(): Promise<void> {
    const { log, elapsed, cutOffMs, onChange } = this.#host;
    const startMs = elapsed();
    try {
      await log.end();
      this.#reachedMs = Math.max(this.#reachedMs, startMs);
    } catch {
      // It is asked again.
    }
    const isCutOff = this.ageMs > cutOffMs;
    if (isCutOff === this.#isCutOff) return;
    this.#isCutOff = isCutOff;
    onChange(isCutOff);
  }
}
