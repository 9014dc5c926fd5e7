/**
 * Counters and gauges by their labels, and the registry that writes them.
 */

import { expect, test } from "vitest";
import { MetricRegistry } from "../../src/observability/metric-registry.ts";
import { readExposition } from "../support/exposition.ts";

function samplesOf(registry: MetricRegistry): Record<string, number> {
  return Object.fromEntries(readExposition(registry.text()).samples);
}

test("a counter adds up for each combination of labels", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter("calls_total", "Calls.");
  counter.add({ kind: "read" });
  counter.add({ kind: "read" }, 2);
  counter.add({ kind: "write" }, 0);
  expect(samplesOf(registry)).toEqual({
    'calls_total{kind="read"}': 3,
    'calls_total{kind="write"}': 0,
  });
});

test("a counter that would fall is a bug, a gauge may fall", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter("calls_total", "Calls.");
  expect(() => counter.add({}, -1)).toThrow("a counter that grows");
  const gauge = registry.gauge("calls", "Calls that run.");
  gauge.add({}, -1);
  expect(samplesOf(registry)).toEqual({ calls: -1 });
});

test("a value is set, removed and cleared", () => {
  const registry = new MetricRegistry();
  const gauge = registry.gauge("doors", "Open doors.");
  gauge.set({ floor: 1 }, 5);
  gauge.set({ floor: 1 }, 4);
  gauge.set({ floor: 2 }, 3);
  gauge.remove({ floor: 2 });
  expect(samplesOf(registry)).toEqual({ 'doors{floor="1"}': 4 });
  gauge.clear();
  expect(registry.text()).toBe("# HELP doors Open doors.\n# TYPE doors gauge\n");
});

test("the registry writes its metrics in the order in which they were made, each name once", () => {
  const registry = new MetricRegistry();
  registry
    .histogram({ name: "took_seconds", help: "Time.", bounds: [1] })
    .of({})
    .observe(0.5);
  registry.counter("calls_total", "Calls.").add({});
  expect(Object.keys(samplesOf(registry)).at(-1)).toBe("calls_total");
  expect(() => registry.gauge("calls_total", "Calls.")).toThrow("a metric is registered once");
});
