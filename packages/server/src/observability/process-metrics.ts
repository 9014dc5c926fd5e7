/**
 * Process metrics: CPU, memory, files and pauses of the process, in the registry of metrics.
 */

import type { Metric, MetricRegistry } from "./metric-registry.ts";
import { type LoopLag, ProcessStats } from "./process-stats.ts";

const PAUSES_S = [0.001, 0.01, 0.1, 1, 5];

/** Metrics of the process, under the names that dashboards for Node expect. */
export class ProcessMetrics {
  readonly #stats: ProcessStats;
  readonly #cpu: Metric;
  readonly #cpuUser: Metric;
  readonly #cpuSystem: Metric;
  readonly #start: Metric;
  readonly #resident: Metric;
  readonly #openFiles: Metric;
  readonly #heapTotal: Metric;
  readonly #heapUsed: Metric;
  readonly #external: Metric;
  readonly #lag: { readonly [name in keyof LoopLag]: Metric };

  constructor(registry: MetricRegistry) {
    const measure = (name: string, help: string): Metric => registry.gauge(name, help);
    const cpu = (part: string): Metric =>
      registry.counter(`process_cpu_${part}seconds_total`, "Processor time.");
    const lag = (part: string): Metric =>
      measure(`nodejs_eventloop_lag_${part}_seconds`, "Delay of the event loop since last scrape.");
    this.#cpu = cpu("");
    this.#cpuUser = cpu("user_");
    this.#cpuSystem = cpu("system_");
    this.#start = measure("process_start_time_seconds", "Start of the process, since 1970.");
    this.#resident = measure("process_resident_memory_bytes", "Memory of the process.");
    this.#openFiles = measure("process_open_fds", "Open files and connections.");
    this.#heapTotal = measure("nodejs_heap_size_total_bytes", "Memory for JavaScript values.");
    this.#heapUsed = measure("nodejs_heap_size_used_bytes", "Memory of JavaScript values.");
    this.#external = measure("nodejs_external_memory_bytes", "Memory of buffers.");
    this.#lag = { mean: lag("mean"), p50: lag("p50"), p99: lag("p99"), max: lag("max") };
    const pauses = registry.histogram({
      name: "nodejs_gc_duration_seconds",
      help: "Pauses of the garbage collector.",
      bounds: PAUSES_S,
    });
    this.#stats = new ProcessStats((kind, seconds) => pauses.of({ kind }).observe(seconds));
  }

  collect(): void {
    const reading = this.#stats.read();
    const { cpuUserSeconds, cpuSystemSeconds, openFiles, loopLag } = reading;
    this.#cpu.set({}, cpuUserSeconds + cpuSystemSeconds);
    this.#cpuUser.set({}, cpuUserSeconds);
    this.#cpuSystem.set({}, cpuSystemSeconds);
    this.#start.set({}, reading.startSeconds);
    this.#resident.set({}, reading.residentBytes);
    if (openFiles !== undefined) this.#openFiles.set({}, openFiles);
    this.#heapTotal.set({}, reading.heapTotalBytes);
    this.#heapUsed.set({}, reading.heapUsedBytes);
    this.#external.set({}, reading.externalBytes);
    this.#lag.mean.set({}, loopLag.mean);
    this.#lag.p50.set({}, loopLag.p50);
    this.#lag.p99.set({}, loopLag.p99);
    this.#lag.max.set({}, loopLag.max);
  }

  close(): void {
    this.#stats.close();
  }
}
