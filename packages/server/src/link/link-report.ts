/**
 * Link report: the state of the links of a replication, and how the management API and
 * `system:data_sync_info` show it. The metrics use it, too.
 */

import type { LinkFault, LinkStatus } from "@bigpeer/engine/link";
import type { SystemRow } from "@bigpeer/engine/query";
import type { Value, ValueObject } from "@bigpeer/protocol";
import { showTime } from "../validation/time-text.ts";

/**
 * `waiting`: for the next attempt; `connecting`: until both sides have proved the secret;
 * `duplicate`: the other side's connection serves both; `refused`: a caller was refused;
 * `no_secret`: the app has none, so nothing is dialled.
 */
export type LinkState = "waiting" | "connecting" | "linked" | "duplicate" | "refused" | "no_secret";

/** One address, or one accepted connection. */
export interface LinkReport {
  readonly side: "dial" | "accept";
  /** The address in the replication, or that of the caller. */
  readonly address: string;
  readonly state: LinkState;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly partner: string | undefined;
  readonly lastError: LinkFault | undefined;
  /** When the address is dialled again; undefined unless it waits. */
  readonly nextMs: number | undefined;
  /** Status from the engine; undefined while there is no link. */
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

/** A row for each partner; reports without a partner are in the management API alone. */
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
