import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FULL_PERMISSIONS } from "@bigpeer/engine/query";
import { expect, test } from "vitest";
import { copyFolder } from "../../node/test/support/copied-folder.ts";
import { testHost } from "../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../node/test/support/temporary-folder.ts";
import type { Config } from "../src/config/config.ts";
import { appStoreFolder } from "../src/config/data-folder.ts";
import { SERVER } from "../src/registry/audit-log.ts";
import { startServer } from "../src/server.ts";
import { openFirstApp } from "./support/open-app.ts";
import { testConfig } from "./support/test-config.ts";

function configOf(dataDir: string, change: Partial<Config> = {}): Config {
  return testConfig({ dataDir, ...change });
}

test("a ready server knows its apps, has none of them open, and releases everything when it closes", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const host = testHost();
  const server = await startServer(configOf(dataDir), host);
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
  const apps = server.registry.apps.list();
  expect(apps.map(({ name }) => name)).toEqual(["default"]);
  expect(server.apps.open).toEqual([]);
  expect(readdirSync(dataDir).toSorted()).toEqual([
    "apps",
    "format.json",
    "lock",
    "quickstart.json",
    "registry",
  ]);
  await Promise.all([server.close(), server.close()]);
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
  const again = await startServer(configOf(dataDir), host);
  expect(again.registry.apps.list()).toEqual(apps);
  await again.close();
  expect(host.lines).toEqual([]);
});

test("[K73] a folder that others can access causes a warning at the start, with the command that closes it", async () => {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o750);
  const host = testHost();
  await (await startServer(configOf(dataDir), host)).close();
  const warning = `${dataDir} is open to others (mode 0750); close it: chmod -R go-rwx ${dataDir}`;
  expect(host.lines).toEqual([expect.stringContaining(warning)]);
});

test("a write that was accepted before the close is durable after it", async () => {
  const dataDir = temporaryFolder();
  const server = await startServer(configOf(dataDir), testHost());
  const written = (await openFirstApp(server)).store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields: {} }]);
  });
  await server.close();
  expect((await written).txnId).toBe(1);
  const again = await startServer(configOf(dataDir), testHost());
  const { store } = await openFirstApp(again);
  expect(store.read((snapshot) => snapshot.count("cars"))).toBe(1);
  await again.close();
});

test("a start that fails releases what it had taken", async () => {
  const dataDir = temporaryFolder();
  const server = await startServer(configOf(dataDir, { managementPort: 0 }), testHost());
  const port = Number(new URL(server.url).port);
  const managementPort = Number(new URL(server.managementUrl ?? "").port);
  for (const taken of [{ port }, { managementPort }]) {
    const other = temporaryFolder();
    await expect(startServer(configOf(other, taken), testHost())).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("is in use"),
    });
    expect(existsSync(join(other, "lock"))).toBe(false);
  }
  await server.close();
  rmSync(join(dataDir, "registry"), { recursive: true });
  await expect(startServer(configOf(dataDir, { port }), testHost())).rejects.toMatchObject({
    code: "store.corrupt",
  });
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
});

test("an app with a broken store fails its own callers; the server starts and serves the others", async () => {
  const dataDir = temporaryFolder();
  const first = await startServer(configOf(dataDir), testHost());
  const { apiKey, appId } = first.quickstart?.shown ?? { apiKey: "", appId: "" };
  const { id } = await first.registry.apps.create({ name: "second" }, SERVER);
  const given = { name: "key", permissions: FULL_PERMISSIONS };
  const second = await first.registry.keys.create(id, given, SERVER);
  await first.close();
  writeFileSync(join(appStoreFolder(dataDir, appId), "data.mdb"), "not a store".repeat(1_000));
  const host = testHost();
  const server = await startServer(configOf(dataDir), host);
  const statusFor = async (key: string): Promise<number> => {
    const response = await fetch(`${server.url}/api/v4/store/execute`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ statement: "SELECT * FROM system:collections" }),
    });
    return response.status;
  };
  expect(await statusFor(apiKey)).toBe(500);
  expect(await statusFor(second)).toBe(200);
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
  expect(host.lines[0]).toContain(`error failed to open the app ${appId}`);
  await server.close();
});

test("the last uses of keys are written when a server closes", async () => {
  const dataDir = temporaryFolder();
  const server = await startServer(configOf(dataDir), testHost());
  const { apiKey, appId } = server.quickstart?.shown ?? { apiKey: "", appId: "" };
  expect(server.registry.keys.find(apiKey)).toBeDefined();
  await server.close();
  const again = await startServer(configOf(dataDir), testHost());
  expect(again.registry.keys.list(appId)).toEqual([
    expect.objectContaining({ lastUsedAt: expect.any(Number) }),
  ]);
  await again.close();
});

test("two servers on a folder and its copy write as different sites", async () => {
  const parent = temporaryFolder();
  const [dataDir, copyDir] = [join(parent, "data"), join(parent, "copy")];
  await (await startServer(configOf(dataDir), testHost())).close();
  copyFolder(dataDir, copyDir);
  const host = testHost();
  const [server, copy] = [
    await startServer(configOf(dataDir), host),
    await startServer(configOf(copyDir), host),
  ];
  const one = await openFirstApp(server);
  const two = await openFirstApp(copy);
  expect(two.id).toBe(one.id);
  expect(two.store.identity.site).not.toBe(one.store.identity.site);
  expect(host.lines).toHaveLength(2);
  for (const line of host.lines) expect(line).toContain(`this folder is a copy: ${copyDir}/`);
  await server.close();
  await copy.close();
});

test("a foreign folder is left unchanged", async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "photos"));
  writeFileSync(join(dataDir, "thesis.txt"), "");
  await expect(startServer(configOf(dataDir), testHost())).rejects.toMatchObject({
    code: "store.foreign",
  });
  expect(readdirSync(dataDir).toSorted()).toEqual(["photos", "thesis.txt"]);
});
