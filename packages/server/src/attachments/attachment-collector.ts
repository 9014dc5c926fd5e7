/**
 * Attachment collector: garbage collection of attachments. It deletes contents that no document has
 * referred to for the grace period, and files without a record. maintenance/maintenance.ts schedules it (H40).
 *
 * It runs in the background in bounded batches. Errors are logged, and the next run tries again. In a
 * cluster, the evaluating node of an app deletes records, and every node deletes its own files, and
 * fetches those that it lacks.
 */

import type { Store } from "@bigpeer/engine/store";
import { msOfTime, PeerError, timeOfMs } from "@bigpeer/protocol";
import { isElsewhere } from "../http/refusal.ts";
import { describeError, type Log } from "../observability/log.ts";
import type { AttachmentFolder } from "./attachment-folder.ts";

/** Contents deleted in one transaction. */
const BATCH = 256;

/** In a cluster the record of a file may come later than the file. */
const SHARED_STRAY_MS_MIN = 3_600_000;

export interface CollectedApp {
  readonly id: string;
  readonly store: Store;
  readonly attachments: AttachmentFolder;
}

export interface CollectorOptions {
  /** How long unreferenced content is kept. */
  readonly attachmentGraceMs: number;
  /** The wall clock. */
  readonly now: () => number;
  readonly log: Log;
}

/** Stops soon after `isStopped` returns true, or when the store is then closed. */
export async function collectAttachments(
  app: CollectedApp,
  options: CollectorOptions,
  isStopped: () => boolean,
): Promise<void> {
  const { log } = options;
  try {
    const orphans = app.store.isFollowing ? 0 : await removeOrphans(app, options, isStopped);
    const count = orphans + (await removeStrays(app, options, isStopped));
    if (count > 0) log("info", "deleted unreferenced attachments", { appId: app.id, count });
    const missing = await app.attachments.complete(isStopped);
    if (missing === 0) return;
    log("warn", "no node that is alive has the content of attachments", {
      appId: app.id,
      count: missing,
    });
  } catch (error) {
    // Another node evaluates the app now.
    if (isElsewhere(error)) return;
    if (isStopped() && error instanceof PeerError && error.code === "store.closed") return;
    log(
      "error",
      `failed to collect unused attachments of the app ${app.id}: ${describeError(error)}`,
    );
  }
}

async function removeOrphans(
  { store, attachments }: CollectedApp,
  { attachmentGraceMs, now }: CollectorOptions,
  isStopped: () => boolean,
): Promise<number> {
  // Never ahead of the last write: a wall clock that jumped must not delete early.
  const nowMs = Math.min(now(), msOfTime(store.read((view) => view.head.time)));
  // The last time value of its millisecond.
  const upToTime = timeOfMs(nowMs - attachmentGraceMs + 1) - 1;
  let count = 0;
  while (!isStopped()) {
    const removed = await attachments.removeOrphans(upToTime, BATCH);
    if (removed === 0) break;
    count += removed;
  }
  return count;
}

async function removeStrays(
  { attachments }: CollectedApp,
  { attachmentGraceMs, now }: CollectorOptions,
  isStopped: () => boolean,
): Promise<number> {
  const graceMs = attachments.isShared
    ? Math.max(attachmentGraceMs, SHARED_STRAY_MS_MIN)
    : attachmentGraceMs;
  let count = 0;
  for await (const id of attachments.removeStrays(now() - graceMs)) {
    if (id !== undefined) count++;
    if (isStopped()) break;
    // Folders are read synchronously: other work runs between them.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return count;
}
