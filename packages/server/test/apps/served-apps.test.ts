/**
 * The apps of a running server, as its clients and its operator see them come and go.
 */

import { existsSync } from "node:fs";
import { FULL_PERMISSIONS } from "@bigpeer/engine";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Config } from "../../src/config.ts";
import { appFolder } from "../../src/data-folder.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { startServer } from "../../src/server.ts";
import { DataApi } from "../support/data-api.ts";
import { type Exposition, readExposition } from "../support/exposition.ts";
import { hasOpenFiles, openFilesIn } from "../support/open-files.ts";
import { testHost } from "../support/store-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { testConfig } from "../support/test-config.ts";

async function serve(changes: Partial<Config> = {}): Promise<DataApi> {
  const config = testConfig({ dataDir: temporaryFolder(), ...changes });
  const server = await startServer(config, testHost());
  onTestFinished(() => server.close());
  return new DataApi(server, config);
}

async function figuresOf({ server }: DataApi): Promise<Exposition["samples"]> {
  return readExposition(await (await fetch(`${server.url}/metrics`)).text()).samples;
}

test("an app that nobody asks for has no file open, and is there again when somebody does", async () => {
  const api = await serve({ appIdleMs: 20 });
  await api.upsert("cars", { blue: {} });
  await vi.waitFor(() => expect(api.server.apps.open).toEqual([]));
  if (hasOpenFiles) {
    const folder = appFolder(api.config.dataDir, api.quickstart.appId);
    await vi.waitFor(() => expect(openFilesIn(folder)).toEqual([]));
  }
  const { body } = await api.call("count", { collection: "cars", query: "true" });
  expect(body).toMatchObject({ count: 1 });
});

test("the figures tell how many apps there are and how many are open, and the stores of those", async () => {
  const api = await serve();
  await api.server.registry.apps.create({ name: "second" }, SERVER);
  const label = `bigpeer_store_documents{app="${api.quickstart.appId}"}`;
  const before = await figuresOf(api);
  expect([before.get("bigpeer_apps"), before.get("bigpeer_apps_open")]).toEqual([2, 0]);
  expect(before.has(label)).toBe(false);
  await api.upsert("cars", { blue: {} });
  const after = await figuresOf(api);
  expect([after.get("bigpeer_apps"), after.get("bigpeer_apps_open")]).toEqual([2, 1]);
  expect(after.get(label)).toBe(1);
});

test("a setting of an app holds from the next request on", async () => {
  const api = await serve();
  const count = async (): Promise<number> =>
    (await api.call("count", { collection: "nobody_knows", query: "true" })).status;
  expect(await count()).toBe(400);
  await api.server.registry.apps.setSettings("default", { isUnknownEmpty: true }, SERVER);
  expect(await count()).toBe(200);
});

test("apps do not see each other's documents, and a key opens its own alone", async () => {
  const api = await serve();
  const { registry } = api.server;
  const { id } = await registry.apps.create({ name: "second" }, SERVER);
  const key = await registry.keys.create(id, { name: "k", permissions: FULL_PERMISSIONS }, SERVER);
  await api.upsert("cars", { blue: {} });
  const headers = { authorization: `Bearer ${key}` };
  const statement = "SELECT * FROM cars";
  const { body } = await api.call("execute", { statement }, { headers });
  expect(body).toMatchObject({ items: [] });
  const prefix = `/${api.quickstart.appId}/api/v4`;
  expect((await api.call("execute", { statement }, { headers, prefix })).status).toBe(401);
});

test("a deleted app is gone for its clients at once, and its data with the first pass after the grace", async () => {
  const api = await serve({ appGraceMs: 0 });
  const { registry, apps } = api.server;
  const { appId } = api.quickstart;
  await api.upsert("cars", { blue: {} });
  await registry.apps.remove("default", SERVER);
  await apps.closeApp(appId);
  expect((await api.call("execute", { statement: "SELECT * FROM cars" })).status).toBe(401);
  const folder = appFolder(api.config.dataDir, appId);
  expect(existsSync(folder)).toBe(true);
  await api.server.close();
  const again = await startServer(api.config, testHost());
  onTestFinished(() => again.close());
  await vi.waitFor(() => expect(again.registry.apps.deleted()).toEqual([]));
  expect(existsSync(folder)).toBe(false);
  expect(again.registry.apps.list()).toEqual([]);
});
