/**
 * Backup and restore: copy a data folder as a whole, or leave no copy.
 *
 * Both copy each store from one snapshot, which LMDB provides also while a server runs, with what its
 * journal has beyond it, into a folder next to the target, and rename that at the end. A backup is an ordinary data folder. The
 * stores of a restored one start new incarnations (K26), because the original may still be running
 * under the old identities.
 *
 * The registry is copied first, then the stores of the apps in that copy, so a copy has the store
 * of every app in it. The stores are not of one instant, but no transaction spans two. If the
 * server removes the data of a deleted app meanwhile, the registry is copied again, without that
 * app.
 *
 * The contents of attachments that a copied store refers to are copied after it. If the server
 * deletes one meanwhile, the store is copied again, without it.
 */

import { randomBytes } from "node:crypto";
import { renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Platform } from "@bigpeer/engine";
import { attachmentOf } from "@bigpeer/engine/store";
import {
  DATA_FILE,
  makeFolder,
  namesIn,
  openStore,
  readJournaled,
  readStore,
  syncFolder,
} from "@bigpeer/node";
import { PeerError } from "@bigpeer/protocol";
import { copyAttachments } from "../attachments/attachment-copy.ts";
import { attachmentPath } from "../attachments/attachment-files.ts";
import {
  appAttachmentsFolder,
  appFolder,
  appStoreFolder,
  checkDataFolder,
  registryFolder,
  writeFormat,
} from "../config/data-folder.ts";
import { type AppName, readAppNames } from "../registry/app.ts";

/** How often a store is copied while contents that it refers to are being deleted. */
const ATTEMPTS_MAX = 100;

export interface CopyReport {
  readonly apps: readonly AppName[];
  readonly sizeBytes: number;
}

/** Copies the data folder `from`, also of a running server, to `to`, which is absent or empty. */
export async function backup(from: string, to: string): Promise<CopyReport> {
  checkDataFolder(from);
  return buildFolder(to, (folder) => copyStores(from, folder));
}

/** As `backup`; the stores of the copy start new incarnations. */
export async function restore(from: string, to: string, platform: Platform): Promise<CopyReport> {
  checkDataFolder(from);
  return buildFolder(to, async (folder) => {
    const report = await copyStores(from, folder);
    for (const copy of storeFolders(folder, report.apps)) {
      // Opening a data file without a record of its incarnation starts a new one.
      const opened = await openStore(copy, { platform, log: () => {}, options: {} });
      await opened.close();
    }
    return report;
  });
}

async function copyStores(from: string, to: string): Promise<CopyReport> {
  const sizes = new Map<string, number>();
  let apps: readonly AppName[] | undefined;
  while (apps === undefined) {
    apps = await copyRegistry(from, to);
    for (const { id } of apps) {
      if (sizes.has(id)) continue;
      const size = await copyKnownApp(from, to, id);
      if (size === undefined) apps = undefined;
      else sizes.set(id, size);
      if (apps === undefined) break;
    }
  }
  const known = new Set(apps.map(({ id }) => id));
  for (const id of sizes.keys()) if (!known.has(id)) removeCopy(to, id);
  let sizeBytes = 0;
  for (const id of known) sizeBytes += sizes.get(id) ?? 0;
  for (const folder of storeFolders(to, apps)) sizeBytes += statSync(join(folder, DATA_FILE)).size;
  return { apps, sizeBytes };
}

/** Replaces an earlier copy. */
async function copyRegistry(from: string, to: string): Promise<readonly AppName[]> {
  const copy = registryFolder(to);
  rmSync(copy, { recursive: true, force: true });
  await copyStore(registryFolder(from), copy);
  return readStore(copy, readAppNames);
}

/** As `copyApp`; undefined when the app was deleted meanwhile. */
async function copyKnownApp(from: string, to: string, appId: string): Promise<number | undefined> {
  try {
    return await copyApp(from, to, appId);
  } catch (error) {
    const names = await readStore(registryFolder(from), readAppNames);
    if (names.some(({ id }) => id === appId)) throw error;
    removeCopy(to, appId);
    return undefined;
  }
}

function removeCopy(to: string, appId: string): void {
  rmSync(appFolder(to, appId), { recursive: true, force: true });
}

/** Returns the size of its attachments. */
async function copyApp(from: string, to: string, appId: string): Promise<number> {
  const live = appStoreFolder(from, appId);
  const store = appStoreFolder(to, appId);
  const folders = {
    store,
    from: appAttachmentsFolder(from, appId),
    to: appAttachmentsFolder(to, appId),
  };
  for (let attempt = 1; ; attempt++) {
    await copyStore(live, store);
    const { sizeBytes, missing } = await copyAttachments(folders);
    if (missing.length === 0) return sizeBytes;
    const lost = await readStore(live, (view) => {
      return missing.find((id) => attempt === ATTEMPTS_MAX || attachmentOf(view, id) !== undefined);
    });
    if (lost !== undefined) {
      const path = attachmentPath(folders.from, lost);
      throw new PeerError("store.corrupt", `expected the content of an attachment at ${path}`);
    }
    rmSync(store, { recursive: true });
  }
}

async function copyStore(from: string, to: string): Promise<void> {
  const storage = readJournaled(from);
  try {
    await storage.copyTo(to);
  } finally {
    await storage.close();
  }
}

function storeFolders(dataDir: string, apps: readonly AppName[]): string[] {
  return [registryFolder(dataDir), ...apps.map(({ id }) => appStoreFolder(dataDir, id))];
}

/** Lets `build` fill a folder beside `target`, and renames it to `target` when it is synced. */
async function buildFolder<T>(target: string, build: (folder: string) => Promise<T>): Promise<T> {
  const path = resolve(target);
  refuseUsed(path);
  const partial = `${path}.partial-${randomBytes(4).toString("hex")}`;
  try {
    makeFolder(partial);
    const result = await build(partial);
    writeFormat(partial);
    moveFolder(partial, path);
    return result;
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
}

function refuseUsed(path: string): void {
  const found = namesIn(path)?.[0];
  if (found === undefined) return;
  throw new PeerError(
    "store.not_empty",
    `expected no folder or an empty one at ${path}, found ${found}`,
  );
}

function moveFolder(from: string, to: string): void {
  try {
    renameSync(from, to);
    syncFolder(dirname(to));
  } catch (cause) {
    const message =
      `failed to rename the copy to ${to}; ` +
      "a mount point cannot be replaced, but a folder in it can be made";
    throw new PeerError("store.write_failed", message, { cause });
  }
}
