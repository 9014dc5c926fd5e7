/**
 * Peer rows: the sync progress and the refused writes of a peer as rows of system collections.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { SystemRow } from "../query/system/system-collections.ts";
import { PENDING, peerNumberOfKey } from "../store/keys.ts";
import { liveFact } from "../store/peer-records.ts";
import type { View } from "../store/view.ts";
import { type RefusedUpload, refusedUploads } from "./outcome.ts";

export type SyncSessionStatus = "Connected" | "Not Connected" | "Disabled";

/** State of the connection, which only the host knows. */
export interface SyncSession {
  /** Identifies the server. */
  readonly id: string;
  readonly status: SyncSessionStatus;
  /** What else the row has. */
  readonly more?: ValueObject | undefined;
}

/** The last local transaction before the first one without an outcome. */
export function syncedUpTo(view: View): number {
  for (const key of view.reader.keys(PENDING)) return peerNumberOfKey(key) - 1;
  return view.head.txnId;
}

/** The row of `system:data_sync_info` for the one server of a peer. */
export function syncInfoRow(view: View, { id, status, more }: SyncSession): SystemRow {
  const { receivedAt } = liveFact(view.reader);
  const documents: ValueObject = {
    sync_session_status: status,
    synced_up_to_local_commit_id: syncedUpTo(view),
    last_update_received_time: receivedAt === 0 ? null : receivedAt,
  };
  return { id, fields: { is_ditto_server: true, documents, ...more } };
}

/** Refused and stale uploads with their operations. */
export function refusedRows(view: View): SystemRow[] {
  return refusedUploads(view).map(refusedRow);
}

function refusedRow({ commitId, steps, ...upload }: RefusedUpload): SystemRow {
  const { kind, reason, at, refusedAt } = upload;
  const operations = steps.flatMap((step) => step.operations) as unknown as Value;
  const fields = { kind, reason, written_time: at, refused_time: refusedAt, operations };
  return { id: commitId, fields };
}
