import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Registry } from "../src/registry.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("the first start makes one app named default, the next one finds it", async () => {
  const dataDir = temporaryFolder();
  const registry = await Registry.open(dataDir, testHost());
  const apps = registry.apps();
  expect(apps).toEqual([
    {
      id: expect.stringMatching(UUID),
      name: "default",
      settings: { isV4Strict: false, isUnknownEmpty: false },
    },
  ]);
  await registry.close();
  const again = await Registry.open(dataDir, testHost());
  expect(again.apps()).toEqual(apps);
  await again.close();
  expect(readdirSync(join(dataDir, "apps"))).toEqual([apps[0]?.id]);
});

test("each app has a store of its own", async () => {
  const dataDir = temporaryFolder();
  const registry = await Registry.open(dataDir, testHost());
  const second = await registry.createApp("second");
  expect(registry.apps()).toHaveLength(2);
  const stores = await Promise.all(registry.apps().map((app) => registry.openAppStore(app)));
  const sites = stores.map(({ store }) => store.identity.site);
  expect(new Set([...sites, registry.storeFolder.store.identity.site]).size).toBe(3);
  const opened = stores.find(({ folder }) => folder.includes(second.id));
  expect(opened?.folder).toBe(join(dataDir, "apps", second.id, "store"));
  for (const store of stores) await store.close();
  await registry.close();
});

test("an app whose store was lost is told, not given an empty one", async () => {
  const dataDir = temporaryFolder();
  const registry = await Registry.open(dataDir, testHost());
  const [app] = registry.apps();
  if (app === undefined) throw new Error("expected an app");
  rmSync(join(dataDir, "apps", app.id), { recursive: true });
  await expect(registry.openAppStore(app)).rejects.toMatchObject({ code: "store.corrupt" });
  await registry.close();
});

test("a registry that was lost is told, not begun anew", async () => {
  const dataDir = temporaryFolder();
  await (await Registry.open(dataDir, testHost())).close();
  rmSync(join(dataDir, "registry"), { recursive: true });
  await expect(Registry.open(dataDir, testHost())).rejects.toMatchObject({
    code: "store.corrupt",
    message: `expected the registry of the apps in ${join(dataDir, "registry")}, found none`,
  });
});

test("an id that is no UUID never becomes the name of a folder", async () => {
  const dataDir = temporaryFolder();
  const registry = await Registry.open(dataDir, testHost());
  await registry.storeFolder.store.transact((transaction) => {
    const fields = { name: "x" };
    transaction.apply([{ kind: "insert", collection: "apps", id: "../../etc", fields }]);
  });
  expect(() => registry.apps()).toThrow("expected apps with a UUID and a name in the registry");
  await registry.close();
});
