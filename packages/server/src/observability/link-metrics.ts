/**
 * Link metrics: statistics of the links of all apps as Prometheus text, computed at each read;
 * docs/operating.md has the table.
 */

import { metricText, type Sample } from "./exposition.ts";

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
  readonly samples: (stats: LinkStats) => Iterable<Sample>;
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
    help: "Transactions of the other side that have not arrived here, at the slowest link.",
    samples: ({ lagTransactions }) => [[{}, lagTransactions]],
  },
  {
    name: "lag_seconds",
    type: "gauge",
    help: "Age of the replicated data here, at the slowest link.",
    samples: ({ lagSeconds }) => [[{}, lagSeconds]],
  },
  {
    name: "documents_total",
    type: "counter",
    help: "Documents received and sent.",
    samples: ({ pulledDocuments, servedDocuments }) => [
      [{ direction: "pulled" }, pulledDocuments],
      [{ direction: "served" }, servedDocuments],
    ],
  },
  {
    name: "bytes_total",
    type: "counter",
    help: "Bytes of the messages that carry them.",
    samples: ({ pulledBytes, servedBytes }) => [
      [{ direction: "pulled" }, pulledBytes],
      [{ direction: "served" }, servedBytes],
    ],
  },
  {
    name: "missing_attachments",
    type: "gauge",
    help: "Attachments that documents refer to and whose content is not here.",
    samples: ({ missingContents: count }) => (count === undefined ? [] : [[{}, count]]),
  },
  {
    name: "errors_total",
    type: "counter",
    help: "Links that ended or failed, by the reason.",
    samples: ({ errors }) => labelled("code", errors),
  },
];

/** All metrics, including those without samples. */
export function linkMetricsText(stats: StatsByApp): string {
  const apps = [...stats];
  const texts = METRICS.map(({ name, type, help, samples }) => {
    const ofAll = apps.flatMap(([app, of]) =>
      Array.from(samples(of), ([labels, value]): Sample => [{ app, ...labels }, value]),
    );
    return metricText({ name: `bigpeer_replication_${name}`, type, help }, ofAll);
  });
  return texts.join("");
}

function labelled(name: string, counts: ReadonlyMap<string, number>): Sample[] {
  return Array.from(counts, ([value, count]) => [{ [name]: value }, count]);
}
