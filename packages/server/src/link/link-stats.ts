/**
 * Link stats: the statistics of all links of one app, for the metrics.
 */

import type { LinkStats, StatsByApp } from "../observability/link-metrics.ts";
import type { LinkState } from "./link-report.ts";
import type { LinkedApp } from "./linked-app.ts";

export const NO_LINK_STATS: LinkStats = {
  links: new Map(),
  lagTransactions: 0,
  lagSeconds: 0,
  pulledDocuments: 0,
  pulledBytes: 0,
  servedDocuments: 0,
  servedBytes: 0,
  missingContents: undefined,
  errors: new Map(),
};

export function linkStats(app: LinkedApp): LinkStats {
  const links = new Map<LinkState, number>();
  let lagTransactions = 0;
  let lagMs = 0;
  for (const { state, link } of app.reports()) {
    links.set(state, (links.get(state) ?? 0) + 1);
    lagTransactions = Math.max(lagTransactions, link?.lagTxn ?? 0);
    lagMs = Math.max(lagMs, link?.lagMs ?? 0);
  }
  const { errors, contents } = app;
  const missingContents = contents?.lastCount;
  const lag = { lagTransactions, lagSeconds: lagMs / 1000 };
  return { ...app.totals(), ...lag, links, missingContents, errors };
}

/** How many links are up, and how many are not, over all apps. */
export function countLinks(stats: StatsByApp): { linked: number; others: number } {
  let linked = 0;
  let all = 0;
  for (const [, { links }] of stats) {
    for (const [state, count] of links) {
      // The two sides of a duplicate are linked, because the other one called.
      if (state === "linked" || state === "duplicate") linked += count;
      all += count;
    }
  }
  return { linked, others: all - linked };
}
