/**
 * LiveFeed: follows the change feed while the page is visible and not paused, and goes on from its
 * last position afterwards. What arrives is shown a few times a second, however much it is.
 */

import { parseExact } from "@bigpeer/client/exact-json";
import { followChanges } from "../../api/changes.ts";
import { ApiError, isSessionLost } from "../../api/request.ts";
import { batch, type Signal, signal } from "../../kit/preact.ts";
import { isActive } from "../../kit/visible.ts";
import type { StreamEvent } from "../../values/event-stream.ts";
import {
  addChanges,
  addCounts,
  type ChangeCounts,
  type ChangeLine,
  isChange,
  type LiveChange,
  type Marker,
  NO_CHANGES,
} from "../../values/live-change.ts";

export type FeedState = "connecting" | "following" | "paused" | "lost" | "failed";

export interface FeedSource {
  readonly app: string;
  readonly collection: string | undefined;
  readonly query: string | undefined;
}

const SHOW_EVERY_MS = 250;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 15_000;

/** The server sends something every 15 seconds; after so much silence the connection is lost. */
const SILENCE_MS_MAX = 45_000;

/** The position is older than what the log of the server has. */
const GONE = 410;
const TOO_MANY = 429;

export class LiveFeed {
  readonly changes: Signal<readonly LiveChange[]> = signal([]);
  /** Of all changes since the beginning, also of those that are no longer kept. */
  readonly counts: Signal<ChangeCounts> = signal(NO_CHANGES);
  readonly state: Signal<FeedState> = signal("connecting");
  readonly error: Signal<ApiError | undefined> = signal(undefined);
  /** Whether changes were missed. */
  readonly hasGap: Signal<boolean> = signal(false);
  readonly #source: FeedSource;
  #cursor: string | undefined;
  #arrived: LiveChange[] = [];
  #nextKey = 1;
  #isPaused = false;
  #following: AbortController | undefined;
  #showTimer: ReturnType<typeof setTimeout> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #silenceTimer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = RETRY_MS_MIN;
  readonly #stopWatching: () => void;

  constructor(source: FeedSource) {
    this.#source = source;
    this.#stopWatching = isActive.subscribe(() => this.#update());
  }

  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#update();
  }

  clear(): void {
    batch(() => {
      this.changes.value = [];
      this.counts.value = NO_CHANGES;
      this.hasGap.value = false;
    });
  }

  close(): void {
    this.#stopWatching();
    this.#stop();
  }

  #update(): void {
    const isWanted = isActive.value && !this.#isPaused;
    if (this.#isPaused) this.state.value = "paused";
    else if (isSessionLost.value) this.state.value = "lost";
    if (!isWanted) this.#stop();
    else if (this.#following === undefined) void this.#follow();
  }

  #stop(): void {
    this.#following?.abort();
    this.#following = undefined;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#silenceTimer);
    this.#show();
  }

  /** Begins to wait for the next event. */
  #expectMore(): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => {
      this.#stop();
      this.#retry();
    }, SILENCE_MS_MAX);
  }

  async #follow(): Promise<void> {
    const controller = new AbortController();
    this.#following = controller;
    this.state.value = "connecting";
    const { app, collection, query } = this.#source;
    const { signal: abort } = controller;
    let failure: unknown;
    try {
      const pieces = followChanges(app, { collection, query, since: this.#cursor, signal: abort });
      for await (const events of pieces) {
        this.#expectMore();
        for (const event of events) this.#take(event);
      }
    } catch (error) {
      failure = error;
    }
    if (abort.aborted) return;
    this.#stop();
    if (failure === undefined) this.#retry();
    else this.#fail(ApiError.from(failure));
  }

  #take({ id, data }: StreamEvent): void {
    const line = parseExact(data) as ChangeLine | Marker;
    this.#cursor = id;
    if (isChange(line)) {
      this.#arrived.push({ ...line, key: this.#nextKey++, size: data.length });
      this.#showTimer ??= setTimeout(() => this.#show(), SHOW_EVERY_MS);
      return;
    }
    if (line.marker === "end") {
      if (line.reason === "gone") this.#startAnew();
      return;
    }
    this.state.value = "following";
    this.error.value = undefined;
    this.#retryMs = RETRY_MS_MIN;
  }

  #show(): void {
    clearTimeout(this.#showTimer);
    this.#showTimer = undefined;
    const arrived = this.#arrived;
    if (arrived.length === 0) return;
    this.#arrived = [];
    batch(() => {
      this.changes.value = addChanges(this.changes.value, arrived);
      this.counts.value = addCounts(this.counts.value, arrived);
    });
  }

  #fail(error: ApiError): void {
    if (error.status === GONE) this.#startAnew();
    // The same request would fail again.
    else if (error.status >= 400 && error.status < 500 && error.status !== TOO_MANY) {
      this.error.value = error;
      this.state.value = "failed";
      return;
    }
    this.#retry();
  }

  #startAnew(): void {
    this.#cursor = undefined;
    this.hasGap.value = true;
  }

  #retry(): void {
    this.state.value = "lost";
    const ms = this.#retryMs;
    this.#retryMs = Math.min(2 * ms, RETRY_MS_MAX);
    this.#retryTimer = setTimeout(() => this.#update(), ms);
  }
}
