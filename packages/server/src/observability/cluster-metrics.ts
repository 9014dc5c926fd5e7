/**
 * Cluster metrics: what this node of a cluster is and does, as Prometheus text, computed at each
 * read; docs/operating.md has the table.
 */

import { metricText, type Sample } from "./exposition.ts";

export interface ClusterStats {
  /** Nodes that are alive, this one included. */
  readonly nodes: number;
  /** Seconds since the log was reached. */
  readonly ageSeconds: number;
  /** Last entry of the log in each open store, and whether this node evaluates it. */
  readonly stores: readonly {
    readonly store: string;
    readonly isEvaluating: boolean;
    readonly sequence: number;
  }[];
}

/** Empty for a server that is alone. */
export function clusterMetricsText(stats: ClusterStats | undefined): string {
  if (stats === undefined) return "";
  const { nodes, ageSeconds, stores } = stats;
  return [
    gauge("nodes", "Nodes that are alive, this one included.", [[{}, nodes]]),
    gauge("age_seconds", "Time since this node reached the log.", [[{}, ageSeconds]]),
    gauge(
      "evaluating",
      "1 if this node evaluates the writes of a store, else 0.",
      stores.map(({ store, isEvaluating }) => [{ store }, isEvaluating ? 1 : 0]),
    ),
    gauge(
      "sequence",
      "Last entry of the log that a store has.",
      stores.map(({ store, sequence }) => [{ store }, sequence]),
    ),
  ].join("");
}

function gauge(name: string, help: string, samples: readonly Sample[]): string {
  return metricText({ name: `bigpeer_cluster_${name}`, help, type: "gauge" }, samples);
}
