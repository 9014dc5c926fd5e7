/**
 * Attachment collector: deletes contents that no document has referred to for long enough, and
 * files that no record knows. When it is an app's turn: maintenance.ts.
 *
 * It works in the background and in bounded batches. What fails is logged and tried again with the
 * next turn.
 */

import type { Store } from "@bigpeer/engine";
import { msOfTime, PeerError, timeOfMs } from "@bigpeer/protocol";
import { describeError, type Log } from "../log.ts";
import type { AttachmentFolder } from "./attachment-folder.ts";

/** Contents that are deleted in one transaction. */
const BATCH = 256;

export interface CollectedApp {
  readonly id: string;
  readonly store: Store;
  readonly attachments: AttachmentFolder;
}

export interface CollectorOptions {
  /** How long content is kept while no document refers to it. */
  readonly attachmentGraceMs: number;
  /** The wall clock. */
  readonly now: () => number;
  readonly log: Log;
}

/** Ends soon after `isStopped`, or when the store is closed after that. */
export async function collectAttachments(
  app: CollectedApp,
  options: CollectorOptions,
  isStopped: () => boolean,
): Promise<void> {
  const { log } = options;
  try {
    const orphans = await removeOrphans(app, options, isStopped);
    const count = orphans + (await removeStrays(app, options, isStopped));
    if (count === 0) return;
    log("info", "deleted unreferenced attachments", { appId: app.id, count });
  } catch (error) {
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
  // Never ahead of the last write: a wall clock that leapt must not delete early.
  const nowMs = Math.min(now(), msOfTime(store.read((view) => view.head.time)));
  // The last tick of its millisecond.
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
  let count = 0;
  for await (const id of attachments.removeStrays(now() - attachmentGraceMs)) {
    if (id !== undefined) count++;
    if (isStopped()) break;
    // Folders are read at once: others get their turn between two of them.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return count;
}
