/**
 * Device rows: connected peers as rows of system collections. `system:peers` has all that is known
 * of each peer, `system:data_sync_info` its progress. EXPLAIN SYNC says why a document is on a peer
 * or is not.
 */

import type { ExplainSyncRequest, SystemData, SystemRow } from "@bigpeer/engine/query";
import { type PeerReport, peerRow, type SyncServer } from "@bigpeer/engine/sync";
import type { ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";

/** An explanation in time slices. */
export type ExplainSteps = Generator<void, ValueObject[], void>;

/** Provides the connected peers. */
export interface DeviceSource {
  /** The sync server of an app; undefined if no peer has connected since it was opened. */
  syncOf(appId: string): SyncServer | undefined;
  explain(app: OpenApp, request: ExplainSyncRequest): ExplainSteps;
}

export function deviceRows(
  app: OpenApp,
  source: DeviceSource,
): Pick<SystemData, "rows" | "explainSync"> {
  return {
    rows: (collection) => {
      const sync = source.syncOf(app.id);
      if (sync === undefined) return [];
      if (collection === "peers") return rowsOf(sync, peerRow);
      if (collection !== "data_sync_info") return [];
      return rowsOf(sync, (report) => syncInfoRow(report, sync.now().wallMs));
    },
    explainSync: (request) => source.explain(app, request),
  };
}

/** Has the columns that a small peer has for its server; here each peer has a row. */
function syncInfoRow({ description, progress, traffic }: PeerReport, nowMs: number): SystemRow {
  const { appliedTxn } = progress;
  return {
    id: description.key,
    fields: {
      is_ditto_server: false,
      documents: {
        sync_session_status: "Connected",
        synced_up_to_local_commit_id: appliedTxn ?? null,
        last_update_received_time: Math.floor(nowMs - traffic.heardMs),
      },
    },
  };
}

function* rowsOf(sync: SyncServer, rowOf: (report: PeerReport) => SystemRow): Iterable<SystemRow> {
  for (const report of reportsOf(sync)) yield rowOf(report);
}

/**
 * Reports of connected peers, in the order in which they connected, from after a session on. Each
 * is made when it is read: there may be thousands, and the reader can yield in between.
 */
export function* reportsOf(sync: Pick<SyncServer, "presence">, after = 0): Iterable<PeerReport> {
  for (const session of Array.from(sync.presence.sessions())) {
    if (session.session <= after) continue;
    const report = session.report();
    if (report !== undefined) yield report;
  }
}
