/**
 * What becomes of the data of apps that were deleted.
 */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { appAttachmentsFolder, appFolder, appStoreFolder } from "../../src/config/data-folder.ts";
import { DeletedApps } from "../../src/maintenance/deleted-apps.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { DAY_MS, type MaintainedFolder, openMaintained } from "../support/maintained-folder.ts";

interface Deleted extends MaintainedFolder {
  /** The app that was deleted. */
  readonly id: string;
  readonly deletedApps: DeletedApps;
}

/** A folder of two apps, one of which was deleted a moment ago. */
async function openDeleted(graceMs = DAY_MS): Promise<Deleted> {
  const folder = await openMaintained("gone");
  const { dataDir, registry, apps } = folder;
  const { id } = registry.apps.named("gone");
  (await apps.use(id)).release();
  const attachments = appAttachmentsFolder(dataDir, id);
  mkdirSync(attachments);
  writeFileSync(join(attachments, "content"), "a photo");
  await registry.apps.remove("gone", SERVER);
  await apps.closeApp(id);
  return { ...folder, id, deletedApps: watchDeleted(folder, graceMs) };
}

function watchDeleted(folder: MaintainedFolder, appGraceMs: number): DeletedApps {
  const { dataDir, registry, apps, platform, host } = folder;
  const now = (): number => platform.nowMs;
  const { log } = host;
  const deletedApps = new DeletedApps({ dataDir, registry, apps, appGraceMs, now, log });
  onTestFinished(() => deletedApps.stop());
  return deletedApps;
}

test("the data of a deleted app is kept for the grace period and then removed completely", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry, platform, deletedApps, host } = deleted;
  const other = registry.apps.named("default").id;
  platform.nowMs += DAY_MS - 1;
  await deletedApps.removeDue();
  expect(existsSync(join(appStoreFolder(dataDir, id), "data.mdb"))).toBe(true);
  expect(registry.apps.deleted()).toHaveLength(1);
  // Nothing else is written meanwhile.
  platform.nowMs += 1;
  await deletedApps.removeDue();
  expect(readdirSync(join(dataDir, "apps"))).toEqual([other]);
  expect(registry.apps.deleted()).toEqual([]);
  expect(host.lines).toEqual(["info the data of a deleted app was removed"]);
});

test("data that a crash left half removed is removed", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry } = deleted;
  deleted.platform.nowMs += DAY_MS;
  rmSync(appStoreFolder(dataDir, id), { recursive: true });
  await deleted.deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
  expect(registry.apps.deleted()).toEqual([]);
});

test("if the folder is already gone, only its record is removed", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry } = deleted;
  deleted.platform.nowMs += DAY_MS;
  rmSync(appFolder(dataDir, id), { recursive: true });
  await deleted.deletedApps.removeDue();
  expect(registry.apps.deleted()).toEqual([]);
});

test("a folder that is not in the registry is never touched", async () => {
  const deleted = await openDeleted();
  const { dataDir } = deleted;
  const foreign = join(dataDir, "apps", "00000000-0000-4000-8000-00000000cafe", "store");
  mkdirSync(foreign, { recursive: true });
  writeFileSync(join(foreign, "data.mdb"), "whatever");
  deleted.platform.nowMs += 3 * DAY_MS;
  await deleted.deletedApps.removeDue();
  expect(readdirSync(foreign)).toEqual(["data.mdb"]);
});

test("a wall clock that jumps removes nothing: the removal is refused like every write", async () => {
  const { dataDir, id, platform, registry, deletedApps, host } = await openDeleted();
  const { txnId } = registry.storeFolder.store;
  platform.nowMs += 40 * DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(true);
  expect(registry.storeFolder.store.txnId).toBe(txnId);
  expect(host.lines).toEqual([
    expect.stringContaining(
      `error failed to delete the data of the deleted app ${id}: the wall clock`,
    ),
  ]);
  platform.nowMs -= 40 * DAY_MS;
  expect((await registry.apps.restore(id, SERVER)).name).toBe("gone");
});

test("a removal that has started finishes after a restart, and a late restore is refused", async () => {
  const { dataDir, id, platform, registry, deletedApps } = await openDeleted();
  platform.nowMs += DAY_MS;
  expect(await registry.apps.beginRemoval(id, DAY_MS)).toBe(true);
  await expect(registry.apps.restore(id, SERVER)).rejects.toMatchObject({ title: "AppNotFound" });
  // Whatever the clock says then.
  platform.nowMs -= DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
  expect(registry.apps.deleted()).toEqual([]);
});

test("an app that was restored keeps its data, whatever is due", async () => {
  const { dataDir, id, platform, registry, deletedApps, apps } = await openDeleted();
  await registry.apps.restore(id, SERVER);
  platform.nowMs += 2 * DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(join(appAttachmentsFolder(dataDir, id), "content"))).toBe(true);
  const use = await apps.use(id);
  expect(use.app.name).toBe("gone");
  use.release();
});

test("a removal that is interrupted by the closing registry ends without an error", async () => {
  const { platform, registry, deletedApps, host, id } = await openDeleted();
  platform.nowMs += DAY_MS;
  await registry.apps.beginRemoval(id, DAY_MS);
  const removing = deletedApps.removeDue();
  const stopped = deletedApps.stop();
  await registry.close();
  await Promise.all([removing, stopped]);
  expect(host.lines).toEqual([]);
});

test("data that cannot be removed is logged and stays due", async () => {
  const deleted = await openDeleted();
  const { dataDir, id, registry, host } = deleted;
  deleted.platform.nowMs += DAY_MS;
  const apps = join(dataDir, "apps");
  rmSync(apps, { recursive: true });
  writeFileSync(apps, "a file where the folder should be");
  await deleted.deletedApps.removeDue();
  expect(host.lines).toEqual([
    expect.stringContaining(`error failed to delete the data of the deleted app ${id}: `),
  ]);
  expect(registry.apps.deleted()).toHaveLength(1);
});

test("an app that is still open is closed first", async () => {
  const folder = await openMaintained("gone");
  const { dataDir, registry, apps } = folder;
  const { id } = registry.apps.named("gone");
  (await apps.use(id)).release();
  await registry.apps.remove("gone", SERVER);
  await watchDeleted(folder, 0).removeDue();
  expect(apps.open).toEqual([]);
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
});

test("a stopped remover removes nothing more", async () => {
  const { dataDir, id, platform, deletedApps } = await openDeleted();
  await deletedApps.stop();
  platform.nowMs += DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(true);
});

test("an app that is deleted later is removed when it is due, without other writes", async () => {
  const folder = await openMaintained("one", "two");
  const { registry, platform, host } = folder;
  watchDeleted(folder, 50);
  await registry.apps.remove("one", SERVER);
  platform.nowMs += 50;
  await vi.waitFor(() => expect(registry.apps.deleted()).toEqual([]));
  await registry.apps.remove("two", SERVER);
  const { txnId } = registry.storeFolder.store;
  platform.nowMs += 50;
  await vi.waitFor(() => expect(registry.apps.deleted()).toEqual([]));
  // That it began, and that it is done.
  expect(registry.storeFolder.store.txnId).toBe(txnId + 2);
  expect(host.lines).toHaveLength(2);
});

test("a new app may have the id of a deleted one only after its data is gone", async () => {
  const deleted = await openDeleted();
  const { id, registry, apps } = deleted;
  const again = { name: "again", id };
  await expect(registry.apps.create(again, SERVER)).rejects.toMatchObject({
    title: "AppIdNotUnique",
  });
  deleted.platform.nowMs += DAY_MS;
  await deleted.deletedApps.removeDue();
  await registry.apps.create(again, SERVER);
  const { app } = await apps.use(id);
  expect(app.store.read((view) => view.txnId)).toBe(0);
});
