/**
 * Recent stats: the figures of the last hour, one point for every few seconds, in a ring of fixed
 * size. Counting takes an addition for each request and commit; a point is made by a timer.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";

/** Sampling interval of the event loop delay. */
const LOOP_LOOK_MS = 20;

/** Time between two points, and points of an hour. */
export const RECENT_STEP_MS = 5_000;
export const RECENT_POINTS_MAX = 720;

/** What a point holds, in the order of the columns. */
export const RECENT_SERIES = [
  "requestsPerSecond",
  "commitsPerSecond",
  "commitMs",
  "commitMaxMs",
  "loopDelayMs",
  "loopDelayMaxMs",
  "peers",
  "syncLagMs",
  "linkLagSeconds",
  "cpuShare",
  "memoryBytes",
] as const;

export type RecentSeries = (typeof RECENT_SERIES)[number];

export type RecentPoint = { readonly [name in RecentSeries]: number };

/** Figures that are read when a point is made. */
export interface RecentSource {
  readonly peers: () => number;
  readonly syncLagMs: () => number;
  readonly linkLagSeconds: () => number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** Points after a time, oldest first, as columns. */
export interface RecentPoints {
  readonly at: readonly number[];
  readonly columns: { readonly [name in RecentSeries]: readonly number[] };
}

const WIDTH: number = RECENT_SERIES.length + 1;

export class RecentStats {
  readonly #source: RecentSource;
  readonly #ring = new Float64Array(RECENT_POINTS_MAX * WIDTH);
  readonly #timer: NodeJS.Timeout;
  /** Of its own: each scrape of the metrics resets the other one. */
  readonly #loop = monitorEventLoopDelay({ resolution: LOOP_LOOK_MS });
  /** Points made so far. */
  #count = 0;
  #requests = 0;
  #commits = 0;
  #commitMs = 0;
  #commitMaxMs = 0;
  #lastMs = performance.now();
  #lastCpu: NodeJS.CpuUsage = process.cpuUsage();

  constructor(source: RecentSource) {
    this.#source = source;
    this.#timer = setInterval(() => this.sample(), RECENT_STEP_MS);
    this.#timer.unref();
    this.#loop.enable();
  }

  requestAnswered(): void {
    this.#requests++;
  }

  committed(elapsedMs: number): void {
    this.#commits++;
    this.#commitMs += elapsedMs;
    if (elapsedMs > this.#commitMaxMs) this.#commitMaxMs = elapsedMs;
  }

  /** Makes a point of what was counted since the last one. The timer calls it. */
  sample(): void {
    const nowMs = performance.now();
    const seconds = Math.max(nowMs - this.#lastMs, 1) / 1_000;
    const { user, system } = process.cpuUsage(this.#lastCpu);
    const { peers, syncLagMs, linkLagSeconds, now = Date.now } = this.#source;
    const loop = this.#loop;
    this.#add(now(), {
      requestsPerSecond: this.#requests / seconds,
      commitsPerSecond: this.#commits / seconds,
      commitMs: this.#commits === 0 ? 0 : this.#commitMs / this.#commits,
      commitMaxMs: this.#commitMaxMs,
      loopDelayMs: delayOf(loop.mean),
      loopDelayMaxMs: delayOf(loop.max),
      peers: peers(),
      syncLagMs: syncLagMs(),
      linkLagSeconds: linkLagSeconds(),
      cpuShare: (user + system) / 1e6 / seconds,
      memoryBytes: process.memoryUsage.rss(),
    });
    this.#requests = 0;
    this.#commits = 0;
    this.#commitMs = 0;
    this.#commitMaxMs = 0;
    this.#loop.reset();
    this.#lastMs = nowMs;
    this.#lastCpu = process.cpuUsage();
  }

  /** The newest point; undefined before the first. */
  get last(): RecentPoint | undefined {
    if (this.#count === 0) return undefined;
    const start = this.#startOf(this.#count - 1) + 1;
    const values = this.#ring.subarray(start, start + RECENT_SERIES.length);
    const point: { [name in RecentSeries]?: number } = {};
    for (const [i, name] of RECENT_SERIES.entries()) point[name] = values[i] ?? 0;
    return point as RecentPoint;
  }

  /** The points that were made after `sinceMs`. */
  since(sinceMs: number): RecentPoints {
    const first = Math.max(0, this.#count - RECENT_POINTS_MAX);
    const at: number[] = [];
    const columns: { [name in RecentSeries]?: number[] } = {};
    for (const name of RECENT_SERIES) columns[name] = [];
    for (let number = first; number < this.#count; number++) {
      const start = this.#startOf(number);
      const atMs = this.#ring[start] ?? 0;
      if (atMs <= sinceMs) continue;
      at.push(atMs);
      for (const [i, name] of RECENT_SERIES.entries()) {
        columns[name]?.push(rounded(this.#ring[start + 1 + i] ?? 0));
      }
    }
    return { at, columns: columns as RecentPoints["columns"] };
  }

  /** Repeated calls are harmless. */
  close(): void {
    clearInterval(this.#timer);
    this.#loop.disable();
  }

  #add(atMs: number, point: RecentPoint): void {
    const start = this.#startOf(this.#count++);
    this.#ring[start] = atMs;
    for (const [i, name] of RECENT_SERIES.entries()) this.#ring[start + 1 + i] = point[name];
  }

  #startOf(number: number): number {
    return (number % RECENT_POINTS_MAX) * WIDTH;
  }
}

/** In milliseconds; a sample without delay measures the sampling interval. */
function delayOf(nanoseconds: number): number {
  const ms = nanoseconds / 1e6 - LOOP_LOOK_MS;
  // Without samples the mean is NaN.
  return ms > 0 ? ms : 0;
}

/** Three digits behind the point are enough for a chart. */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
