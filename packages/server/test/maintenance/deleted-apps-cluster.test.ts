/**
 * What becomes of the data of deleted apps on the nodes of a cluster: one node decides, and every
 * node removes its own data.
 */

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@bigpeer/engine/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { appFolder, appStoreFolder } from "../../src/config/data-folder.ts";
import { DeletedApps, type PurgedLogs } from "../../src/maintenance/deleted-apps.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import type { OpenedStore } from "../../src/stores/stores.ts";
import { DAY_MS, type MaintainedFolder, openMaintained } from "../support/maintained-folder.ts";

interface ClusterNode extends MaintainedFolder {
  /** The app that was deleted. */
  readonly id: string;
  readonly deletedApps: DeletedApps;
  readonly removedLogs: string[];
}

/** A node with an app that was deleted a moment ago. */
async function openNode(
  isFollowing: boolean,
  folderOf: PurgedLogs["folderOf"] = async () => "other",
): Promise<ClusterNode> {
  const folder = await openMaintained("gone");
  const { dataDir, registry, apps, platform, host } = folder;
  const { id } = registry.apps.named("gone");
  await registry.apps.remove("gone", SERVER);
  const { store } = registry.storeFolder;
  const seen = { isFollowing, onCommit: (listener: () => void) => store.onCommit(listener) };
  const storeFolder = { store: seen as unknown as Store } as OpenedStore;
  const removedLogs: string[] = [];
  const deletedApps = new DeletedApps({
    dataDir,
    registry: { apps: registry.apps, storeFolder },
    apps,
    appGraceMs: DAY_MS,
    now: () => platform.nowMs,
    log: host.log,
    cluster: { folderOf, removeLog: async (appId) => void removedLogs.push(appId) },
  });
  onTestFinished(() => deletedApps.stop());
  return { ...folder, id, deletedApps, removedLogs };
}

test("the node that decides removes the log with the data", async () => {
  const { dataDir, id, platform, registry, deletedApps, removedLogs } = await openNode(false);
  platform.nowMs += DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
  expect(removedLogs).toEqual([id]);
  expect(registry.apps.deleted()).toEqual([]);
});

test("another node removes its data when the removal has begun, and decides nothing", async () => {
  const { dataDir, id, platform, registry, deletedApps, removedLogs } = await openNode(true);
  platform.nowMs += DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(true);
  await registry.apps.beginRemoval(id, DAY_MS);
  await vi.waitFor(() => expect(existsSync(appFolder(dataDir, id))).toBe(false));
  expect(registry.apps.deleted()).toHaveLength(1);
  expect(removedLogs).toEqual([]);
});

test("another node removes its data also if it learns of the removal when it is over", async () => {
  const { dataDir, id, platform, registry, deletedApps } = await openNode(true);
  await deletedApps.removeDue();
  platform.nowMs += DAY_MS;
  await Promise.all([registry.apps.beginRemoval(id, DAY_MS), registry.apps.forget(id)]);
  await vi.waitFor(() => expect(existsSync(appFolder(dataDir, id))).toBe(false));
});

test("a registry that cannot be read is logged, and read again later", async () => {
  const { dataDir, id, platform, registry, deletedApps, host } = await openNode(true);
  await deletedApps.removeDue();
  platform.nowMs += DAY_MS;
  const get = vi.spyOn(registry.apps, "get").mockImplementation(() => {
    throw new Error("the disk failed");
  });
  await registry.apps.beginRemoval(id, DAY_MS);
  await vi.waitFor(() => expect(host.lines).not.toEqual([]));
  expect(host.lines[0]).toContain("failed to read the deleted apps: Error: the disk failed");
  get.mockRestore();
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(false);
});

test("an app that was restored keeps its data on another node", async () => {
  const { dataDir, id, platform, registry, deletedApps } = await openNode(true);
  await deletedApps.removeDue();
  await registry.apps.restore(id, SERVER);
  platform.nowMs += DAY_MS;
  await deletedApps.removeDue();
  expect(existsSync(appFolder(dataDir, id))).toBe(true);
});

test("of unknown folders only those whose log was removed are removed", async () => {
  const purged = "00000000-0000-4000-8000-00000000cafe";
  const unsure = "00000000-0000-4000-8000-00000000beef";
  const failing = "00000000-0000-4000-8000-00000000dead";
  const node = await openNode(true, async (id) => {
    if (id === failing) throw new Error("the log cannot be reached");
    return id === purged ? "purged" : "other";
  });
  const { dataDir, registry } = node;
  for (const id of [purged, unsure, failing]) {
    mkdirSync(appStoreFolder(dataDir, id), { recursive: true });
    writeFileSync(join(appStoreFolder(dataDir, id), "data.mdb"), "whatever");
  }
  await node.deletedApps.removeDue();
  const left = [purged, unsure, failing, node.id, registry.apps.named("default").id];
  expect(left.map((id) => existsSync(appFolder(dataDir, id)))).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
});

test("a look at folders that fails is repeated with the next one", async () => {
  const purged = "00000000-0000-4000-8000-00000000cafe";
  const node = await openNode(true, async () => "purged");
  const apps = join(node.dataDir, "apps");
  mkdirSync(appStoreFolder(node.dataDir, purged), { recursive: true });
  renameSync(apps, `${apps}.away`);
  writeFileSync(apps, "");
  await node.deletedApps.removeDue();
  expect(node.host.lines).toEqual([
    expect.stringContaining("failed to look for folders of unknown apps: "),
  ]);
  rmSync(apps);
  renameSync(`${apps}.away`, apps);
  await node.deletedApps.removeDue();
  expect(existsSync(appFolder(node.dataDir, purged))).toBe(false);
});

test("a young folder of an unknown app is looked at again soon", async () => {
  const young = "00000000-0000-4000-8000-00000000cafe";
  let looks = 0;
  const node = await openNode(true, async () => (++looks === 1 ? "young" : "purged"));
  mkdirSync(appStoreFolder(node.dataDir, young), { recursive: true });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await node.deletedApps.removeDue();
  expect(existsSync(appFolder(node.dataDir, young))).toBe(true);
  vi.advanceTimersByTime(60_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(existsSync(appFolder(node.dataDir, young))).toBe(false));
  expect(looks).toBe(2);
});
