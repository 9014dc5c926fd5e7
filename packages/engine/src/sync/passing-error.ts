/**
 * Errors that pass: the store could not be read just now, and the same may succeed the next time.
 */

import { PeerError } from "@bigpeer/protocol";

export function isPassing(error: unknown): boolean {
  if (!(error instanceof PeerError)) return false;
  return error.code === "store.snapshot_expired" || error.code === "store.busy";
}
