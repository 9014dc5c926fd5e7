/**
 * What becomes of the data of apps that were deleted.
 */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeDeletedApps } from "../../src/apps/deleted-apps.ts";
import { appAttachmentsFolder, appFolder, appStoreFolder } from "../../src/data-folder.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { DAY_MS, type MaintainedFolder, openMaintained } from "../support/maintained-folder.ts";

interface Deleted extends MaintainedFolder {
  /** The app that was deleted. */
  readonly id: string;
  readonly remove: (isStopped?: () => boolean) => Promise<void>;
}

/** A folder of two apps, one of which was deleted a moment ago. */
async function openDeleted(): Promise<Deleted> {
  const folder = await openMaintained("gone");
  const { dataDir, registry, apps, platform, host } = folder;
  const { id } = registry.apps.named("gone");
  (await apps.use(id)).release();
  const attachments = appAttachmentsFolder(dataDir, id);
  mkdirSync(attachments);
  writeFileSync(join(attachments, "content"), "a photo");
  await registry.apps.remove("gone", SERVER);
  await apps.closeApp(id);
  const now = (): number => platform.nowMs;
  const { log } = host;
  const remove = (isStopped = () => false): Promise<void> =>
    removeDeletedApps({ dataDir, registry, apps, appGraceMs: DAY_MS, now, log }, isStopped);
  return { ...folder, id, remove };
}

/** Lets time pass, which the registry notes as it does with every change. */
async function pass({ platform, registry }: Deleted, ms: number): Promise<void> {
  platform.nowMs += ms;
  await registry.apps.setSettings("default", {}, SERVER);
}

test("the data of a deleted app is kept for the grace and then removed, all of it", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry, host } = deleted;
  const other = registry.apps.named("default").id;
  await pass(deleted, DAY_MS - 1);
  await deleted.remove();
  expect(existsSync(join(appStoreFolder(dataDir, id), "data.mdb"))).toBe(true);
  expect(registry.apps.deleted()).toHaveLength(1);
  await pass(deleted, 1);
  await deleted.remove();
  expect(readdirSync(join(dataDir, "apps"))).toEqual([other]);
  expect(registry.apps.deleted()).toEqual([]);
  expect(host.lines).toEqual(["info the data of a deleted app was removed"]);
});

test("what a crash left half removed is removed", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry } = deleted;
  await pass(deleted, DAY_MS);
  rmSync(appStoreFolder(dataDir, id), { recursive: true });
  await deleted.remove();
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
  expect(registry.apps.deleted()).toEqual([]);
});

test("where the folder is gone already, only the note of it is left to remove", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry } = deleted;
  await pass(deleted, DAY_MS);
  rmSync(appFolder(dataDir, id), { recursive: true });
  await deleted.remove();
  expect(registry.apps.deleted()).toEqual([]);
});

test("a folder that the registry says nothing of is never touched", async () => {
  const deleted = await openDeleted();
  const { dataDir } = deleted;
  const foreign = join(dataDir, "apps", "00000000-0000-4000-8000-00000000cafe", "store");
  mkdirSync(foreign, { recursive: true });
  writeFileSync(join(foreign, "data.mdb"), "whatever");
  await pass(deleted, 3 * DAY_MS);
  await deleted.remove();
  expect(readdirSync(foreign)).toEqual(["data.mdb"]);
});

test("a wall clock that leaps removes nothing before the registry has seen the time", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, platform } = deleted;
  platform.nowMs += 20 * DAY_MS;
  await deleted.remove();
  expect(existsSync(appFolder(dataDir, id))).toBe(true);
});

test("what cannot be removed is logged and stays to be done", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry, host } = deleted;
  await pass(deleted, DAY_MS);
  const apps = join(dataDir, "apps");
  rmSync(apps, { recursive: true });
  writeFileSync(apps, "a file where the folder should be");
  await deleted.remove();
  expect(host.lines).toEqual([
    expect.stringContaining(`error the data of the deleted app ${id} is not gone: `),
  ]);
  expect(registry.apps.deleted()).toHaveLength(1);
});

test("an app that is still open is closed first", async () => {
  const folder = await openMaintained("gone");
  const { dataDir, registry, apps, platform, host } = folder;
  const { id } = registry.apps.named("gone");
  (await apps.use(id)).release();
  await registry.apps.remove("gone", SERVER);
  const now = (): number => platform.nowMs;
  const { log } = host;
  const options = { dataDir, registry, apps, appGraceMs: 0, now, log };
  await removeDeletedApps(options, () => true);
  expect(registry.apps.deleted()).toHaveLength(1);
  await removeDeletedApps(options, () => false);
  expect(apps.open).toEqual([]);
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
});

test("a new app may have the id of one whose data is gone, and not before", async () => {
  const deleted = await openDeleted();
  const { id, registry, apps } = deleted;
  const again = { name: "again", id };
  await expect(registry.apps.create(again, SERVER)).rejects.toMatchObject({
    title: "AppIdNotUnique",
  });
  await pass(deleted, DAY_MS);
  await deleted.remove();
  await registry.apps.create(again, SERVER);
  const { app } = await apps.use(id);
  expect(app.store.read((view) => view.txnId)).toBe(0);
});
