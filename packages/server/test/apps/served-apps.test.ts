/**
 * The apps of a running server, as its clients and its operator see them come and go.
 */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { expect, onTestFinished, test, vi } from "vitest";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import type { Config } from "../../src/config/config.ts";
import { appAttachmentsFolder, appFolder } from "../../src/config/data-folder.ts";
import { SERVER } from "../../src/registry/audit-log.ts";
import { startServer } from "../../src/server.ts";
import { DataApi } from "../support/data-api.ts";
import { type Exposition, readExposition } from "../support/exposition.ts";
import { hasOpenFiles, openFilesIn } from "../support/open-files.ts";
import { contentLength, RawConnection, requestBytes } from "../support/raw-connection.ts";
import { testConfig } from "../support/test-config.ts";

async function serve(changes: Partial<Config> = {}): Promise<DataApi> {
  const config = testConfig({ dataDir: temporaryFolder(), ...changes });
  const server = await startServer(config, testHost());
  onTestFinished(() => server.close());
  return new DataApi(server, config);
}

async function statsOf({ server }: DataApi): Promise<Exposition["samples"]> {
  return readExposition(await (await fetch(`${server.url}/metrics`)).text()).samples;
}

test("an unused app has no file open, and is available again on the next request", async () => {
  const api = await serve({ appIdleMs: 20 });
  await api.upsert("cars", { blue: {} });
  await vi.waitFor(() => expect(api.server.apps.open).toEqual([]));
  if (hasOpenFiles) {
    const folder = appFolder(api.config.dataDir, api.quickstart.appId);
    await vi.waitFor(() => expect(openFilesIn(folder)).toEqual([]));
  }
  const { body } = await api.call("count", { collection: "cars", query: "true" });
  expect(body).toEqual({ count: 1, txnId: expect.any(Number) });
});

test("metrics show how many apps exist and how many are open, with the stores of the open ones", async () => {
  const api = await serve();
  await api.server.registry.apps.create({ name: "second" }, SERVER);
  const label = `bigpeer_store_documents{app="${api.quickstart.appId}"}`;
  const before = await statsOf(api);
  expect([before.get("bigpeer_apps"), before.get("bigpeer_apps_open")]).toEqual([2, 0]);
  expect(before.has(label)).toBe(false);
  await api.upsert("cars", { blue: {} });
  const after = await statsOf(api);
  expect([after.get("bigpeer_apps"), after.get("bigpeer_apps_open")]).toEqual([2, 1]);
  expect(after.get(label)).toBe(1);
});

test("a setting of an app applies from the next request on", async () => {
  const api = await serve();
  const count = async (): Promise<number> =>
    (await api.call("count", { collection: "nobody_knows", query: "true" })).status;
  expect(await count()).toBe(400);
  await api.server.registry.apps.setSettings("default", { isUnknownEmpty: true }, SERVER);
  expect(await count()).toBe(200);
});

test("apps do not see each other's documents, and a key opens only its own app", async () => {
  const api = await serve();
  const { registry } = api.server;
  const { id } = await registry.apps.create({ name: "second" }, SERVER);
  const key = await registry.keys.create(id, { name: "k", permissions: FULL_PERMISSIONS }, SERVER);
  await api.upsert("cars", { blue: {} });
  const headers = { authorization: `Bearer ${key}` };
  const statement = "SELECT * FROM cars";
  const { body } = await api.call("execute", { statement }, { headers });
  expect(body).toEqual({
    queryType: "select",
    items: [],
    mutatedDocumentIds: [],
    // Of the collection of that name in the other app it is told nothing.
    warnings: [
      {
        description: 'unknown collection "cars" at line 1, column 15: no document was ever in it',
      },
    ],
    totalWarningsCount: 1,
    transactionId: 0,
    error: {},
  });
  const prefix = `/${api.quickstart.appId}/api/v4`;
  expect((await api.call("execute", { statement }, { headers, prefix })).status).toBe(401);
});

test("a deleted app is gone for its clients at once, and its data after the grace period", async () => {
  const api = await serve({ appGraceMs: 50 });
  const { registry, apps } = api.server;
  const { appId } = api.quickstart;
  await api.upsert("cars", { blue: {} });
  await registry.apps.remove("default", SERVER);
  await apps.closeApp(appId);
  expect((await api.call("execute", { statement: "SELECT * FROM cars" })).status).toBe(401);
  // Nothing else is written.
  await vi.waitFor(() => expect(registry.apps.deleted()).toEqual([]));
  expect(existsSync(appFolder(api.config.dataDir, appId))).toBe(false);
});

test("data that became due while the server was down is removed when it starts", async () => {
  const api = await serve({ appGraceMs: 3_600_000 });
  const { registry } = api.server;
  await registry.apps.remove("default", SERVER);
  const folder = appFolder(api.config.dataDir, api.quickstart.appId);
  expect(existsSync(folder)).toBe(true);
  await api.server.close();
  const again = await startServer({ ...api.config, appGraceMs: 0 }, testHost());
  onTestFinished(() => again.close());
  await vi.waitFor(() => expect(again.registry.apps.deleted()).toEqual([]));
  expect(existsSync(folder)).toBe(false);
  expect(again.registry.apps.count).toBe(0);
});

test("a restored app has its documents, and its sessions are valid again", async () => {
  const api = await serve();
  const { registry, apps } = api.server;
  const { appId, developmentToken } = api.quickstart;
  await api.upsert("cars", { blue: {} });
  const login = await fetch(`${api.server.url}/${appId}/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ provider: "development", token: developmentToken }),
  });
  const { accessToken } = (await login.json()) as { readonly accessToken: string };
  const headers = { authorization: `Bearer ${accessToken}` };
  const count = async (options = {}): Promise<number> =>
    (await api.call("count", { collection: "cars", query: "true" }, options)).status;
  await registry.apps.remove("default", SERVER);
  await apps.closeApp(appId);
  expect(await count({ headers })).toBe(401);
  await registry.apps.restore(appId, SERVER);
  const { body } = await api.call("execute", { statement: "SELECT * FROM cars" }, { headers });
  expect(body).toMatchObject({ items: [{ _id: "blue" }] });
  // Keys do not come back.
  expect(await count()).toBe(401);
});

test("[M14] a deletion is answered during a slow upload, and from then on no client gets in", async () => {
  const api = await serve({ managementPort: 0 });
  const { server, quickstart } = api;
  const headers = [
    ["Host", "x"],
    ["Authorization", `Bearer ${quickstart.apiKey}`],
    ["Content-Type", "multipart/form-data; boundary=edge"],
    contentLength(1_000_000),
  ] as const;
  const target = "/api/v4/attachments/upload";
  const trickle = await RawConnection.open(server.url);
  onTestFinished(() => trickle.destroy());
  await trickle.write(requestBytes({ method: "POST", target, headers }));
  await trickle.write(Buffer.from("--edge\r\n"));
  const partials = join(appAttachmentsFolder(api.config.dataDir, quickstart.appId), "partial");
  await vi.waitFor(() => expect(readdirSync(partials)).toHaveLength(1));
  const path = "/namespace/default/bigPeer/big-peer/app/default";
  const deletion = await fetch(`${server.managementUrl}${path}`, { method: "DELETE" });
  expect([deletion.status, await deletion.json()]).toEqual([200, null]);
  expect(server.apps.open).toEqual([]);
  expect((await api.call("execute", { statement: "SELECT 1" })).status).toBe(401);
  // The upload has its few seconds still.
  expect(readdirSync(partials)).toHaveLength(1);
});
