/**
 * Folder lock: ensures that at most one process uses a folder. The lock ends with its process,
 * however the process ends.
 *
 * It is a Unix socket in the folder (socket-lock.ts), and on Windows a named pipe (pipe-lock.ts).
 */

import type { FolderLock } from "./lock-holder.ts";
import { acquirePipeLock } from "./pipe-lock.ts";
import { acquireSocketLock } from "./socket-lock.ts";

/** Acquires the lock of `folder`. Throws PeerError `store.in_use`, which names the holder. */
export function acquireFolderLock(folder: string): Promise<FolderLock> {
  return process.platform === "win32" ? acquirePipeLock(folder) : acquireSocketLock(folder);
}
