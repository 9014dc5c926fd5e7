/**
 * Metric registry: the counters, gauges and histograms of one server, and their text in the format
 * of Prometheus.
 *
 * A counter or gauge has a value for each combination of its labels. The caller gives the labels in
 * the same order each time; a metric without labels takes `{}`.
 */

import { assert } from "@bigpeer/protocol";
import { DurationHistogram, type HistogramOptions } from "./duration-histogram.ts";
import { headText, type Labels, labelsText, type MetricHead, sampleLine } from "./exposition.ts";

/** The value of one combination of labels. */
export interface MetricValue {
  add(amount: number): void;
}

/** Counter or gauge. */
export class Metric {
  readonly #head: MetricHead;
  /** By the text of their labels. */
  readonly #values = new Map<string, number>();

  constructor(head: MetricHead) {
    this.#head = head;
  }

  /** A counter never falls: Prometheus would take it for a restart. */
  add(labels: Labels, amount = 1): void {
    this.#add(labelsText(labels), amount);
  }

  /** Starts at zero if the combination is new. Callers that add often keep the result. */
  of(labels: Labels): MetricValue {
    const key = labelsText(labels);
    this.#add(key, 0);
    return { add: (amount) => this.#add(key, amount) };
  }

  #add(key: string, amount: number): void {
    assert(amount >= 0 || this.#head.type === "gauge", "a counter that grows");
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  /** Sets a gauge, or a counter to a total that is counted elsewhere. */
  set(labels: Labels, value: number): void {
    this.#values.set(labelsText(labels), value);
  }

  remove(labels: Labels): void {
    this.#values.delete(labelsText(labels));
  }

  /** Removes all values, before they are read again from where they are counted. */
  clear(): void {
    this.#values.clear();
  }

  text(): string {
    const { name } = this.#head;
    const lines = Array.from(this.#values, ([labels, value]) => sampleLine(name, labels, value));
    return headText(this.#head) + lines.join("");
  }
}

export class MetricRegistry {
  readonly #metrics = new Map<string, { text(): string }>();

  counter(name: string, help: string): Metric {
    return this.#add(name, new Metric({ name, help, type: "counter" }));
  }

  gauge(name: string, help: string): Metric {
    return this.#add(name, new Metric({ name, help, type: "gauge" }));
  }

  histogram(options: HistogramOptions): DurationHistogram {
    return this.#add(options.name, new DurationHistogram(options));
  }

  text(): string {
    return Array.from(this.#metrics.values(), (metric) => metric.text()).join("");
  }

  #add<T extends { text(): string }>(name: string, metric: T): T {
    assert(!this.#metrics.has(name), "a metric is registered once");
    this.#metrics.set(name, metric);
    return metric;
  }
}
