/**
 * Delivery metrics: statistics of the webhooks and sinks that run here as Prometheus text, computed
 * at each read; docs/operating.md has the table.
 */

import { metricText, type Sample } from "./exposition.ts";

/** Statistics of one webhook or sink. */
export interface DeliveryStats {
  readonly appId: string;
  readonly kind: "webhook" | "sink";
  readonly name: string;
  readonly state: string;
  readonly totals: {
    readonly changes: number;
    readonly deliveries: number;
    readonly failures: number;
    readonly deadLetters: number;
  };
  readonly lag: { readonly transactions: number | null; readonly seconds: number };
}

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Undefined when there is none now. */
  readonly value: (stats: DeliveryStats) => number | undefined;
}

const METRICS: readonly Metric[] = [
  {
    name: "changes_total",
    type: "counter",
    help: "Changes that a webhook or sink has taken.",
    value: ({ totals }) => totals.changes,
  },
  {
    name: "deliveries_total",
    type: "counter",
    help: "Batches of changes that a webhook or sink has taken.",
    value: ({ totals }) => totals.deliveries,
  },
  {
    name: "failures_total",
    type: "counter",
    help: "Attempts to deliver that failed.",
    value: ({ totals }) => totals.failures,
  },
  {
    name: "dead_letters_total",
    type: "counter",
    help: "Batches that were given up.",
    value: ({ totals }) => totals.deadLetters,
  },
  {
    name: "lag_transactions",
    type: "gauge",
    help: "Transactions of the app after the last delivered one.",
    value: ({ lag }) => lag.transactions ?? undefined,
  },
  {
    name: "lag_seconds",
    type: "gauge",
    help: "Age of the oldest change that is being delivered.",
    value: ({ lag }) => lag.seconds,
  },
];

/** All metrics, including those without samples. */
export function deliveryMetricsText(stats: Iterable<DeliveryStats>): string {
  const all = [...stats];
  const texts = METRICS.map(({ name, type, help, value }) => {
    const samples = all.flatMap((of): Sample[] => {
      const found = value(of);
      const { appId: app, kind, name: destination } = of;
      return found === undefined ? [] : [[{ app, kind, name: destination }, found]];
    });
    return metricText({ name: `bigpeer_delivery_${name}`, type, help }, samples);
  });
  const states = all.map(({ appId: app, kind, name, state }): Sample => {
    return [{ app, kind, name, state }, 1];
  });
  const help = "The current state of each webhook and sink.";
  return (
    texts.join("") + metricText({ name: "bigpeer_delivery_state", type: "gauge", help }, states)
  );
}
