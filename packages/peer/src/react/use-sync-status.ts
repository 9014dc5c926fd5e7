/**
 * useSyncStatus: the connection of the peer, and how many of its writes wait.
 */

import type { SyncStatus } from "../sync.ts";
import { useProvided, useShared } from "./peer-context.ts";
import type { Start } from "./shared-values.ts";
import { isSameValue } from "./value-key.ts";

/** The connection to the server, and the writes that wait for it. */
export interface SyncStatusState extends SyncStatus {
  /** Whether the peer is connected. */
  readonly isConnected: boolean;
}

const STOPPED: SyncStatusState = { state: "stopped", pendingCount: 0, isConnected: false };

/**
 * Renders the component with the connection of the peer and the number of its waiting writes, and
 * again each time they change. Before the peer is open it is `stopped`; if the peer cannot be opened,
 * `reason` says why.
 */
export function useSyncStatus(): SyncStatusState {
  const { error } = useProvided();
  const status = useShared("status", follow, STOPPED);
  return error === undefined ? status : { ...STOPPED, reason: error.message };
}

const follow: Start<SyncStatusState> = (peer, set) => {
  let last = STOPPED;
  const update = (status: SyncStatus): void => {
    const next = { ...status, isConnected: status.state === "connected" };
    if (!isSameValue(next, last)) last = next;
    set(last);
  };
  update(peer.sync.status);
  return peer.on("status", update);
};
