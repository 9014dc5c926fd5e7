/**
 * Maintenance: which stores get their turn and when.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StoreFolder } from "@bigpeer/node";
import { expect, onTestFinished, test, vi } from "vitest";
import type { OpenApp } from "../../src/apps/open-app.ts";
import { OpenApps } from "../../src/apps/open-apps.ts";
import { appStoreFolder } from "../../src/config/data-folder.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { DAY_MS, type MaintainedFolder, openMaintained } from "../support/maintained-folder.ts";
import { hasOpenFiles, openFilesIn } from "../support/open-files.ts";

async function insert({ store }: OpenApp, id: string): Promise<void> {
  await store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id, fields: {} }]);
  });
}

/** The last transaction that the log has forgotten. */
function floorOf({ store }: Pick<StoreFolder, "store">): number {
  return store.read((view) => view.head.floor);
}

/** Open, and used by nobody. */
async function openApp({ registry, apps }: MaintainedFolder, name = "default"): Promise<OpenApp> {
  const use = await apps.use(registry.apps.named(name).id);
  use.release();
  return use.app;
}

test("the registry and every open app forget what retention allows, at the start and later", async () => {
  const folder = await openMaintained("second");
  const { platform, registry, host } = folder;
  const [one, two] = [await openApp(folder), await openApp(folder, "second")];
  for (const app of [one, two]) await insert(app, "blue");
  platform.nowMs += 8 * DAY_MS;
  folder.maintain({ everyMs: 20 });
  const stores = [registry.storeFolder, one, two];
  await vi.waitFor(() => expect(stores.map(floorOf).every((floor) => floor > 0)).toBe(true));
  const before = stores.map(floorOf);
  for (const app of [one, two]) await insert(app, "green");
  platform.nowMs += 8 * DAY_MS;
  await vi.waitFor(() => {
    expect(stores.map(floorOf).every((floor, i) => floor > (before[i] ?? 0))).toBe(true);
  });
  expect(host.lines).toEqual([]);
});

test("an app is maintained soon after it was opened", async () => {
  const folder = await openMaintained();
  const { id } = folder.registry.apps.named("default");
  await insert(await openApp(folder), "blue");
  folder.platform.nowMs += 8 * DAY_MS;
  await folder.apps.closeApp(id);
  folder.maintain();
  const app = await openApp(folder);
  await vi.waitFor(() => expect(floorOf(app)).toBeGreaterThan(0));
});

test("a failure is logged and retried", async () => {
  const folder = await openMaintained();
  const { platform, host } = folder;
  const app = await openApp(folder);
  await insert(app, "blue");
  platform.nowMs += 8 * DAY_MS;
  platform.now = () => {
    throw new Error("the clock does not answer");
  };
  folder.maintain({ everyMs: 20 });
  await vi.waitFor(() => expect(host.lines.length).toBeGreaterThan(1));
  expect(host.lines[0]).toContain(`error failed to maintain ${app.storeFolder.folder}`);
  expect(host.lines[0]).toContain("the clock does not answer");
  platform.now = () => platform.nowMs;
  await vi.waitFor(() => expect(floorOf(app)).toBeGreaterThan(0));
});

test("apps that are not opened are visited once a day, and closed afterwards", async () => {
  const folder = await openMaintained("second", "third");
  const { registry, platform, openings, apps, dataDir, host } = folder;
  const ids = registry.apps.names().map(({ id }) => id);
  let passes = 0;
  const now = (): number => {
    passes++;
    return platform.nowMs;
  };
  const later = async (): Promise<void> => {
    const before = passes;
    await vi.waitFor(() => expect(passes).toBeGreaterThan(before + 20));
  };
  folder.maintain({ everyMs: 5, now });
  await later();
  expect(openings).toEqual([]);
  platform.nowMs += DAY_MS;
  await vi.waitFor(() => expect(openings).toHaveLength(3));
  expect(openings.toSorted()).toEqual(ids.toSorted());
  await vi.waitFor(() => expect(apps.open).toEqual([]));
  await later();
  expect(openings).toHaveLength(3);
  if (hasOpenFiles) expect(openFilesIn(`${dataDir}/apps`)).toEqual([]);
  platform.nowMs += DAY_MS;
  await vi.waitFor(() => expect(openings).toHaveLength(6));
  expect(host.lines).toEqual([]);
});

test("a list of the apps that cannot be read is logged, and read again with the next pass", async () => {
  const folder = await openMaintained();
  const { registry, platform, openings, host } = folder;
  platform.nowMs += DAY_MS;
  vi.spyOn(registry.apps, "names").mockImplementationOnce(() => {
    throw new Error("the disk failed");
  });
  folder.maintain({ everyMs: 5 });
  await vi.waitFor(() => expect(openings).toHaveLength(1));
  expect(host.lines).toEqual([expect.stringContaining("error failed to maintain the apps: ")]);
});

test("the first pass of a server visits no app", async () => {
  const folder = await openMaintained("second");
  folder.platform.nowMs += 8 * DAY_MS;
  const maintenance = folder.maintain();
  await vi.waitFor(() => expect(floorOf(folder.registry.storeFolder)).toBeGreaterThan(0));
  await maintenance.stop();
  expect(folder.openings).toEqual([]);
});

test("an app that cannot be opened does not prevent visits to the others", async () => {
  const folder = await openMaintained("second");
  const { registry, platform, openings, apps, host } = folder;
  const [broken, other] = registry.apps.names().map(({ id }) => id);
  const file = join(appStoreFolder(folder.dataDir, broken ?? ""), "data.mdb");
  writeFileSync(file, "not a store".repeat(1_000));
  platform.nowMs += DAY_MS;
  folder.maintain({ everyMs: 5 });
  await vi.waitFor(() => expect(openings).toEqual([other]));
  await vi.waitFor(() => expect(apps.open).toEqual([]));
  expect(host.lines).toEqual([expect.stringContaining(`error failed to open the app ${broken}`)]);
});

test("a visit that is not possible at the limit of open apps is logged", async () => {
  const folder = await openMaintained("second");
  const { registry, platform, host } = folder;
  const apps = new OpenApps({ known: registry.apps, host, idleMs: DAY_MS, openMax: 1 });
  onTestFinished(() => apps.close());
  const { id } = registry.apps.named("second");
  await apps.use(registry.apps.named("default").id);
  platform.nowMs += DAY_MS;
  folder.maintain({ everyMs: 5, apps });
  await vi.waitFor(() => expect(host.lines.length).toBeGreaterThan(0));
  expect(host.lines[0]).toBe(
    `error failed to maintain the app ${id}: expected at most 1 apps in use at a time`,
  );
});

test("a pass interrupted by the closing of its stores ends without an error", async () => {
  const folder = await openMaintained();
  const { platform, apps, registry, host } = folder;
  await insert(await openApp(folder), "blue");
  platform.nowMs += 8 * DAY_MS;
  const stopped = folder.maintain().stop();
  await apps.close();
  await registry.close();
  await stopped;
  expect(host.lines).toEqual([]);
});

test("a later pass, which visits unopened apps, ends in the same way", async () => {
  const folder = await openMaintained();
  const { apps, registry, host } = folder;
  let stopped: Promise<void> | undefined;
  vi.spyOn(registry.storeFolder.store, "maintain")
    .mockImplementationOnce(async () => 0)
    .mockImplementationOnce(async () => {
      // So that what it remembers of the apps is old.
      await registry.apps.create({ name: "second" }, SERVER);
      stopped = maintenance.stop();
      await apps.close();
      await registry.close();
      return 0;
    });
  const maintenance = folder.maintain({ everyMs: 5 });
  await vi.waitFor(() => expect(stopped).toBeDefined());
  await stopped;
  expect(host.lines).toEqual([]);
});
