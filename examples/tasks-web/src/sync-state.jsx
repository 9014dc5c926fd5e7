/**
 * The state of the sync in a few words, and how many writes are in this browser alone.
 */
import { useSyncStatus } from "@bigpeer/peer/react";

export function SyncState() {
  const { state, pendingCount, reason } = useSyncStatus();
  const isDone = state === "connected" && pendingCount === 0;
  const kind = isDone ? "done" : state === "connected" ? "busy" : "away";
  return (
    <p className={`sync sync-${kind}`} role="status" title={reason}>
      <span className="dot" aria-hidden="true" />
      {textOf(state, pendingCount)}
    </p>
  );
}

function textOf(state, pendingCount) {
  const waiting = pendingCount === 1 ? "1 change waits" : `${pendingCount} changes wait`;
  if (state === "connected") return pendingCount === 0 ? "Synced" : "Syncing…";
  if (state === "connecting") return pendingCount === 0 ? "Connecting…" : waiting;
  return pendingCount === 0 ? "Offline" : `Offline, ${waiting}`;
}
