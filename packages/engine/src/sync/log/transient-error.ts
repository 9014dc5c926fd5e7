/**
 * Transient errors: recognises errors of the store after which a retry may succeed.
 */

import { PeerError } from "@bigpeer/protocol";

export function isTransient(error: unknown): boolean {
  if (!(error instanceof PeerError)) return false;
  return error.code === "store.snapshot_expired" || error.code === "store.busy";
}
