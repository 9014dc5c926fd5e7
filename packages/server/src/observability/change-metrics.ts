/**
 * Change metrics: statistics of the change feed, as they are at each scrape; docs/operating.md has
 * the table.
 */

import type { ChangeStreamTotals } from "../limits/change-stream-totals.ts";
import type { Metric, MetricRegistry } from "./metric-registry.ts";
import type { WatchedApp } from "./metric-sources.ts";

export class ChangeMetrics {
  readonly #totals: ChangeStreamTotals;
  readonly #streams: Metric;
  readonly #lines: Metric;
  readonly #readers: Metric;
  readonly #groups: Metric;
  readonly #kept: Metric;

  constructor(registry: MetricRegistry, totals: ChangeStreamTotals) {
    this.#totals = totals;
    const measure = (name: string, help: string): Metric =>
      registry.gauge(`bigpeer_changes_${name}`, help);
    this.#streams = measure("streams", "Open change feeds of clients and of the console.");
    this.#lines = registry.counter("bigpeer_changes_lines_total", "Lines sent on change feeds.");
    const readers = "Readers of changes, including webhooks and sinks.";
    this.#readers = measure("readers", readers);
    this.#groups = measure("groups", "Different filters of the readers of changes.");
    const kept =
      "Approximate size of the lines that are kept for readers that come a little later.";
    this.#kept = measure("kept_bytes", kept);
  }

  collect(apps: Iterable<WatchedApp>): void {
    const { count, lineCount } = this.#totals;
    this.#streams.set({}, count);
    this.#lines.set({}, lineCount);
    for (const each of [this.#readers, this.#groups, this.#kept]) each.clear();
    for (const { id: app, changes } of apps) {
      this.#readers.set({ app }, changes.count);
      this.#groups.set({ app }, changes.groupCount);
      this.#kept.set({ app }, changes.keptLength);
    }
  }
}
