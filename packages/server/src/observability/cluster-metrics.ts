/**
 * Cluster metrics: what this node of a cluster is and does, as Prometheus text, computed at each
 * read; docs/operating.md has the table.
 */

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
    ...gauge("nodes", "Nodes that are alive, this one included.", [["", nodes]]),
    ...gauge("age_seconds", "How long ago the log was reached.", [["", ageSeconds]]),
    ...gauge(
      "evaluating",
      "Whether this node evaluates the writes of a store.",
      stores.map(({ store, isEvaluating }) => [labelOf(store), isEvaluating ? 1 : 0]),
    ),
    ...gauge(
      "sequence",
      "Last entry of the log that a store has.",
      stores.map(({ store, sequence }) => [labelOf(store), sequence]),
    ),
  ].join("");
}

function labelOf(store: string): string {
  return `{store="${store}"}`;
}

function gauge(
  name: string,
  help: string,
  samples: readonly (readonly [labels: string, value: number])[],
): string[] {
  const full = `bigpeer_cluster_${name}`;
  return [
    `# HELP ${full} ${help}\n# TYPE ${full} gauge\n`,
    ...samples.map(([labels, value]) => `${full}${labels} ${value}\n`),
  ];
}
