/**
 * What is told of the links of a replication: for the management API, `system:data_sync_info` and
 * the metrics. Plain data, and how it is shown.
 */

import type { LinkFault, LinkStatus, SystemRow } from "@bigpeer/engine";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { showTime } from "../management/time-text.ts";

/**
 * `waiting`: for the next attempt; `connecting`: until both have proved who they are; `duplicate`: the
 * other side's connection serves both; `refused`: who called here was sent away; `no_secret`: there is
 * none for the app, so nothing is tried.
 */
export type LinkState = "waiting" | "connecting" | "linked" | "duplicate" | "refused" | "no_secret";

/** One address, or one connection that was accepted. */
export interface LinkReport {
  readonly side: "dial" | "accept";
  /** The address of the replication, or where the other side called from. */
  readonly address: string;
  readonly state: LinkState;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly partner: string | undefined;
  readonly lastError: LinkFault | undefined;
  /** When the address is called again; undefined unless it is waited. */
  readonly nextMs: number | undefined;
  /** What the engine says; undefined while there is no link. */
  readonly link: LinkStatus | undefined;
}

/** As the management API shows it. */
export function showReport(report: LinkReport): Value {
  const { side, address, state, sinceMs, partner = null, lastError, nextMs, link } = report;
  return {
    direction: side,
    address,
    state,
    since: showTime(sinceMs),
    partner,
    nextAttemptAt: nextMs === undefined ? null : showTime(nextMs),
    lastError: lastError === undefined ? null : showFault(lastError),
    lag: { transactions: link?.lagTxn ?? null, seconds: secondsOf(link?.lagMs) },
    pulled: link === undefined ? NOTHING_PULLED : { ...link.pulled },
    served: link === undefined ? NOTHING_SERVED : { ...link.served },
    subscriptions: (link?.subscriptions ?? []).map(({ collection, query, state: phase, txn }) => {
      return { collection, query, state: phase, transaction: txn };
    }),
  };
}

/** A row for each partner; `state` of a report that has none is told by the management API alone. */
export function syncRow(report: LinkReport): SystemRow | undefined {
  const { partner, state, link } = report;
  if (partner === undefined) return undefined;
  const documents: ValueObject = {
    sync_session_status: state === "linked" ? "Connected" : "Not Connected",
    synced_up_to_local_commit_id: link?.servedUpTo ?? null,
    last_update_received_time: link?.heardMs ?? null,
  };
  return { id: partner, fields: { is_ditto_server: true, documents } };
}

const NOTHING_PULLED = { documents: 0, bytes: 0, transactions: 0, unchanged: 0, stale: 0 };
const NOTHING_SERVED = { documents: 0, bytes: 0 };

function showFault({ code, message, atMs }: LinkFault): Value {
  return { code, message, at: showTime(atMs) };
}

function secondsOf(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms) / 1000;
}
