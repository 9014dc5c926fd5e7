/**
 * Link metrics: statistics of the links of all apps as Prometheus text, computed at each read;
 * docs/operating.md has the table.
 */

/** Statistics of the links of an app. */
export interface LinkStats {
  readonly pulledDocuments: number;
  readonly pulledBytes: number;
  readonly servedDocuments: number;
  readonly servedBytes: number;
  /** By state. */
  readonly links: ReadonlyMap<string, number>;
  /** The largest of all links. */
  readonly lagTransactions: number;
  readonly lagSeconds: number;
  /** Undefined until the first scan. */
  readonly missingContents: number | undefined;
  /** How often links ended or could not be made, by the reason. */
  readonly errors: ReadonlyMap<string, number>;
}

export type StatsByApp = Iterable<readonly [appId: string, stats: LinkStats]>;

interface Metric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Samples of one app: labels beside it, and the value. */
  readonly samples: (stats: LinkStats) => Iterable<readonly [labels: string, value: number]>;
}

const METRICS: readonly Metric[] = [
  {
    name: "links",
    type: "gauge",
    help: "Addresses and accepted links, by state.",
    samples: ({ links }) => labelled("state", links),
  },
  {
    name: "lag_transactions",
    type: "gauge",
    help: "Transactions of the other side that are not here, at the slowest link.",
    samples: ({ lagTransactions }) => [["", lagTransactions]],
  },
  {
    name: "lag_seconds",
    type: "gauge",
    help: "How old what is here is, at the slowest link.",
    samples: ({ lagSeconds }) => [["", lagSeconds]],
  },
  {
    name: "documents_total",
    type: "counter",
    help: "Documents that came and went.",
    samples: ({ pulledDocuments, servedDocuments }) => [
      [label("direction", "pulled"), pulledDocuments],
      [label("direction", "served"), servedDocuments],
    ],
  },
  {
    name: "bytes_total",
    type: "counter",
    help: "Bytes of the messages with them.",
    samples: ({ pulledBytes, servedBytes }) => [
      [label("direction", "pulled"), pulledBytes],
      [label("direction", "served"), servedBytes],
    ],
  },
  {
    name: "missing_attachments",
    type: "gauge",
    help: "Contents that documents refer to and that are not here.",
    samples: ({ missingContents: count }) => (count === undefined ? [] : [["", count]]),
  },
  {
    name: "errors_total",
    type: "counter",
    help: "Links that ended or were not made, by the reason.",
    samples: ({ errors }) => labelled("code", errors),
  },
];

/** All metrics, including those without samples. */
export function linkMetricsText(stats: StatsByApp): string {
  const apps = [...stats];
  const lines: string[] = [];
  for (const { name: short, type, help, samples } of METRICS) {
    const name = `bigpeer_replication_${short}`;
    const samplesOfAll = apps.flatMap(([appId, of]) =>
      Array.from(samples(of), ([labels, value]) => {
        const all = labels === "" ? label("app", appId) : `${label("app", appId)},${labels}`;
        return `${name}{${all}} ${value}`;
      }),
    );
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samplesOfAll);
  }
  return `${lines.join("\n")}\n`;
}

function labelled(name: string, counts: ReadonlyMap<string, number>): [string, number][] {
  return Array.from(counts, ([value, count]) => [label(name, value), count]);
}

/** Values are ids of apps and fixed words, which need no escapes. */
function label(name: string, value: string): string {
  return `${name}="${value}"`;
}
