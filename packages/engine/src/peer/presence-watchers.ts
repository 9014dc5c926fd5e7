/**
 * Presence watchers: who wants to know of other peers. They are told a moment after something
 * changed, once for all that changed in it, so that a list that comes in pieces is seen as one.
 */

import type { Presence } from "./session-state.ts";

/** How long changes are gathered. */
const GATHER_MS = 50;

interface Watcher {
  readonly listener: (presence: Presence) => void;
  /** What it was told last. */
  told: Presence | undefined;
}

export interface PresenceWatchersOptions {
  /** The same object as long as nothing changes. */
  readonly presence: () => Presence;
  /** Calls once after so many milliseconds, unless it is cancelled. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  /** The first watcher came, or the last one went. */
  readonly onWatched: (isWatched: boolean) => void;
  /** A listener threw. */
  readonly onError: (error: unknown) => void;
}

export class PresenceWatchers {
  readonly #options: PresenceWatchersOptions;
  readonly #watchers = new Set<Watcher>();
  #cancelWake: (() => void) | undefined;

  constructor(options: PresenceWatchersOptions) {
    this.#options = options;
  }

  watch(listener: (presence: Presence) => void): () => void {
    const watcher: Watcher = { listener, told: undefined };
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#options.onWatched(true);
    this.note();
    return () => {
      if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
      this.#sleep();
      this.#options.onWatched(false);
    };
  }

  /** Something may have changed. */
  note(): void {
    if (this.#cancelWake !== undefined || this.#untold().length === 0) return;
    this.#cancelWake = this.#options.wakeIn(GATHER_MS, () => {
      this.#cancelWake = undefined;
      this.#tell();
    });
  }

  close(): void {
    this.#sleep();
    this.#watchers.clear();
  }

  #untold(): Watcher[] {
    if (this.#watchers.size === 0) return [];
    const presence = this.#options.presence();
    return [...this.#watchers].filter(({ told }) => told !== presence);
  }

  #tell(): void {
    const presence = this.#options.presence();
    for (const watcher of this.#untold()) {
      // One that was called before it may have ended it.
      if (!this.#watchers.has(watcher)) continue;
      watcher.told = presence;
      try {
        watcher.listener(presence);
      } catch (error) {
        this.#options.onError(error);
      }
    }
  }

  #sleep(): void {
    this.#cancelWake?.();
    this.#cancelWake = undefined;
  }
}
