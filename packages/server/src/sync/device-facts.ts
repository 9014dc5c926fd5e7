/**
 * Device facts: what statements can ask about connected peers. `system:peers` has all that is known of
 * each, `system:data_sync_info` how far each is, EXPLAIN SYNC why a document is on one or is not.
 */

import {
  type ExplainSyncRequest,
  type PeerReport,
  peerRow,
  type SyncServer,
  type SystemFacts,
  type SystemRow,
} from "@bigpeer/engine";
import type { ValueObject } from "@bigpeer/protocol";
import type { OpenApp } from "../apps/open-app.ts";

/** An explanation, in turns with everything else. */
export type ExplainSteps = Generator<void, ValueObject[], void>;

/** Who knows the peers. */
export interface DeviceSource {
  /** The sync of an app; undefined when no peer has come since it was opened. */
  syncOf(appId: string): SyncServer | undefined;
  explain(app: OpenApp, request: ExplainSyncRequest): ExplainSteps;
}

export function deviceFacts(
  app: OpenApp,
  source: DeviceSource,
): Pick<SystemFacts, "rows" | "explainSync"> {
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

/** The shape that a small peer has for its server; here there is a row for each peer. */
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
 * Those who are connected now, in the order in which they came, or those behind a session. Each report
 * is made when it is asked for: there may be thousands, and whoever looks at them lets others have
 * their turn.
 */
export function* reportsOf(sync: Pick<SyncServer, "presence">, after = 0): Iterable<PeerReport> {
  for (const session of Array.from(sync.presence.sessions())) {
    if (session.session <= after) continue;
    const report = session.report();
    if (report !== undefined) yield report;
  }
}
