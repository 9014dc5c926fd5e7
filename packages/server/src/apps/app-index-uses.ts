/**
 * App index uses: the counts of index uses of all apps since the start of the server, kept while an
 * app is closed.
 */

import { IndexUses } from "@bigpeer/engine/query";

/** More than may be open at a time. */
const APPS_MAX = 1_000;

export class AppIndexUses {
  readonly #byApp = new Map<string, IndexUses>();
  readonly #startMs: number;
  readonly #now: () => number;
  #hasDropped = false;

  constructor(now: () => number) {
    this.#now = now;
    this.#startMs = now();
  }

  /** Called when an app is opened. The counts of the app that was opened longest ago may be dropped. */
  of(appId: string): IndexUses {
    const uses = this.#byApp.get(appId) ?? new IndexUses(this.#sinceMs);
    this.#byApp.delete(appId);
    this.#byApp.set(appId, uses);
    const [oldest] = this.#byApp.keys();
    if (oldest !== undefined && this.#byApp.size > APPS_MAX) {
      this.#byApp.delete(oldest);
      this.#hasDropped = true;
    }
    return uses;
  }

  /** Before, there may have been uses that are no longer known. */
  get #sinceMs(): number {
    return this.#hasDropped ? this.#now() : this.#startMs;
  }

  /** The app is deleted. */
  forget(appId: string): void {
    this.#byApp.delete(appId);
  }
}
