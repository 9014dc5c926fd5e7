/**
 * Process statistics: CPU, memory, open files and event loop delay of the process, read on demand.
 *
 * Two need continuous measurement: the delay of the event loop and the pauses of the garbage
 * collector. Both end with `close`, so a process can start and stop servers.
 */

import { readdirSync } from "node:fs";
import {
  constants,
  type IntervalHistogram,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";

/** Sampling interval of the event loop delay. */
const LOOP_LOOK_MS = 10;

export type PauseKind = "major" | "minor" | "incremental" | "weakcb";

/** Delay of the event loop since the last read, in seconds. */
export interface LoopLag {
  readonly mean: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface ProcessReading {
  /** In seconds since 1970. */
  readonly startSeconds: number;
  readonly cpuUserSeconds: number;
  readonly cpuSystemSeconds: number;
  readonly residentBytes: number;
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
  /** Undefined where the system does not provide it. */
  readonly openFiles: number | undefined;
  readonly loopLag: LoopLag;
}

export class ProcessStats {
  readonly #loop: IntervalHistogram;
  readonly #pauses: PerformanceObserver;

  /** `onPause` is called for each pause of the garbage collector. */
  constructor(onPause: (kind: PauseKind, seconds: number) => void) {
    this.#loop = monitorEventLoopDelay({ resolution: LOOP_LOOK_MS });
    this.#loop.enable();
    this.#pauses = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) onPause(kindOf(entry), entry.duration / 1_000);
    });
    this.#pauses.observe({ entryTypes: ["gc"] });
  }

  read(): ProcessReading {
    const { user, system } = process.cpuUsage();
    const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
    return {
      startSeconds: Math.round(performance.timeOrigin) / 1_000,
      cpuUserSeconds: user / 1e6,
      cpuSystemSeconds: system / 1e6,
      residentBytes: rss,
      heapTotalBytes: heapTotal,
      heapUsedBytes: heapUsed,
      externalBytes: external,
      openFiles: countOpenFiles(),
      loopLag: this.#readLoop(),
    };
  }

  /** Repeated calls are harmless. */
  close(): void {
    this.#loop.disable();
    this.#pauses.disconnect();
  }

  #readLoop(): LoopLag {
    const loop = this.#loop;
    const lag = {
      mean: lagOf(loop.mean),
      p50: lagOf(loop.percentile(50)),
      p99: lagOf(loop.percentile(99)),
      max: lagOf(loop.max),
    };
    loop.reset();
    return lag;
  }
}

/** A sample without delay measures the sampling interval. */
function lagOf(nanoseconds: number): number {
  const ms = nanoseconds / 1e6 - LOOP_LOOK_MS;
  // Without samples the mean is NaN.
  return ms > 0 ? ms / 1_000 : 0;
}

function kindOf(entry: PerformanceEntry): PauseKind {
  // Node's types declare `detail` only for marks and measures.
  const { detail } = entry as { readonly detail?: { readonly kind?: number } };
  switch (detail?.kind) {
    case constants.NODE_PERFORMANCE_GC_MAJOR:
      return "major";
    case constants.NODE_PERFORMANCE_GC_INCREMENTAL:
      return "incremental";
    case constants.NODE_PERFORMANCE_GC_WEAKCB:
      return "weakcb";
    default:
      return "minor";
  }
}

function countOpenFiles(): number | undefined {
  try {
    // Reading the folder opens one more.
    return readdirSync("/proc/self/fd").length - 1;
  } catch {
    return undefined;
  }
}
