/**
 * Deleted apps: their data is kept for a grace, for whoever deleted the wrong one, and then removed.
 *
 * The folder goes first and then the note in the registry, so what a crash leaves is done again. A
 * folder of which the registry has no such note is never touched, whatever is in it.
 */

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { msOfTime } from "@bigpeer/protocol";
import { appFolder, appIdsInFolder } from "../data-folder.ts";
import { syncFolder } from "../disk.ts";
import { describeError, type Log } from "../log.ts";
import type { DeletedApp } from "../registry/app.ts";
import type { Registry } from "../registry/registry.ts";
import type { OpenApps } from "./open-apps.ts";

export interface DeletedAppsHost {
  readonly dataDir: string;
  readonly registry: Pick<Registry, "apps" | "storeFolder">;
  readonly apps: Pick<OpenApps, "closeApp">;
  /** How long the data of a deleted app is kept. */
  readonly appGraceMs: number;
  /** The wall clock. */
  readonly now: () => number;
  readonly log: Log;
}

/** Removes what is due. What fails is logged, and is there for the next time. */
export async function removeDeletedApps(
  host: DeletedAppsHost,
  isStopped: () => boolean,
): Promise<void> {
  const { registry, log } = host;
  for (const app of registry.apps.deleted()) {
    if (isStopped()) return;
    if (!isDue(app, host)) continue;
    try {
      await removeApp(app.id, host);
      log("info", "the data of a deleted app was removed", { appId: app.id });
    } catch (error) {
      log("error", `the data of the deleted app ${app.id} is not gone: ${describeError(error)}`);
    }
  }
}

function isDue({ deletedAt }: DeletedApp, { registry, appGraceMs, now }: DeletedAppsHost): boolean {
  const lastMs = msOfTime(registry.storeFolder.store.read((view) => view.head.time));
  // Never ahead of the last write: a wall clock that leapt must not remove early.
  return Math.min(now(), lastMs) - deletedAt >= appGraceMs;
}

async function removeApp(id: string, { dataDir, registry, apps }: DeletedAppsHost): Promise<void> {
  // It was closed when it was deleted, unless the server ended in between.
  await apps.closeApp(id);
  const folder = appFolder(dataDir, id);
  if (appIdsInFolder(dataDir).includes(id)) {
    await rm(folder, { recursive: true });
    // Else a power loss could bring back what nobody knows any more.
    syncFolder(dirname(folder));
  }
  await registry.apps.forget(id);
}
