/**
 * Presence watchers: listeners for the presence of other peers. They are notified a moment after a
 * change, once for all changes since, so that a list in pieces appears as one.
 */

import type { Presence } from "./session-state.ts";

/** How long changes are gathered before a notification. */
const GATHER_MS = 50;

interface Watcher {
  readonly listener: (presence: Presence) => void;
  /** The presence that it received last. */
  shown: Presence | undefined;
}

export interface PresenceWatchersOptions {
  /** The current presence: the same object until something changes. */
  readonly presence: () => Presence;
  /** Calls `wake` once after `ms`. Returns a function that cancels it. */
  readonly wakeIn: (ms: number, wake: () => void) => () => void;
  /** The first listener was added, or the last one was removed. */
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
    const watcher: Watcher = { listener, shown: undefined };
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#options.onWatched(true);
    this.note();
    return () => {
      if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
      this.#sleep();
      this.#options.onWatched(false);
    };
  }

  /** Schedules a notification if the presence has changed. */
  note(): void {
    if (this.#cancelWake !== undefined || this.#outdated().length === 0) return;
    this.#cancelWake = this.#options.wakeIn(GATHER_MS, () => {
      this.#cancelWake = undefined;
      this.#notify();
    });
  }

  close(): void {
    this.#sleep();
    this.#watchers.clear();
  }

  #outdated(): Watcher[] {
    if (this.#watchers.size === 0) return [];
    const presence = this.#options.presence();
    return [...this.#watchers].filter(({ shown }) => shown !== presence);
  }

  #notify(): void {
    const presence = this.#options.presence();
    for (const watcher of this.#outdated()) {
      // A listener that was called before may have removed this one.
      if (!this.#watchers.has(watcher)) continue;
      watcher.shown = presence;
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
