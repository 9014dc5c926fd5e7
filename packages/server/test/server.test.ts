import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Config } from "../src/config.ts";
import { startServer } from "../src/server.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { testConfig } from "./support/test-config.ts";

function configOf(dataDir: string, change: Partial<Config> = {}): Config {
  return testConfig({ dataDir, ...change });
}

test("a server that is ready has its stores open, and gives all of it back", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const host = testHost();
  const server = await startServer(configOf(dataDir), host);
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
  expect(server.apps.map(({ name }) => name)).toEqual(["default"]);
  const { id } = server.apps[0] ?? { id: "" };
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
  expect(again.apps.map((app) => app.id)).toEqual([id]);
  await again.close();
  expect(host.lines).toEqual([]);
});

test("a write that was accepted before the closing is durable after it", async () => {
  const dataDir = temporaryFolder();
  const server = await startServer(configOf(dataDir), testHost());
  const written = server.apps[0]?.storeFolder.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields: {} }]);
  });
  await server.close();
  expect((await written)?.txnId).toBe(1);
  const again = await startServer(configOf(dataDir), testHost());
  expect(again.apps[0]?.storeFolder.store.read((snapshot) => snapshot.count("cars"))).toBe(1);
  await again.close();
});

test("a start that fails gives back what it had taken", async () => {
  const dataDir = temporaryFolder();
  const server = await startServer(configOf(dataDir), testHost());
  const port = Number(new URL(server.url).port);
  const other = temporaryFolder();
  await expect(startServer(configOf(other, { port }), testHost())).rejects.toMatchObject({
    code: "config.invalid",
  });
  expect(readdirSync(other)).toEqual(["format.json"]);
  await server.close();
  rmSync(join(dataDir, "apps"), { recursive: true });
  await expect(startServer(configOf(dataDir, { port }), testHost())).rejects.toMatchObject({
    code: "store.corrupt",
  });
  expect(existsSync(join(dataDir, "lock"))).toBe(false);
});

test("two servers on a folder and its copy write as different sites", async () => {
  const parent = temporaryFolder();
  const [dataDir, copyDir] = [join(parent, "data"), join(parent, "copy")];
  await (await startServer(configOf(dataDir), testHost())).close();
  cpSync(dataDir, copyDir, { recursive: true });
  const host = testHost();
  const [server, copy] = [
    await startServer(configOf(dataDir), host),
    await startServer(configOf(copyDir), host),
  ];
  expect(copy.apps[0]?.id).toBe(server.apps[0]?.id);
  const sites = [server, copy].map(({ apps }) => apps[0]?.storeFolder.store.identity.site);
  expect(new Set(sites).size).toBe(2);
  expect(host.lines).toHaveLength(2);
  for (const line of host.lines) expect(line).toContain(`this folder is a copy: ${copyDir}/`);
  await server.close();
  await copy.close();
});

test("a folder of somebody else is left as it was", async () => {
  const dataDir = temporaryFolder();
  mkdirSync(join(dataDir, "photos"));
  writeFileSync(join(dataDir, "thesis.txt"), "");
  await expect(startServer(configOf(dataDir), testHost())).rejects.toMatchObject({
    code: "store.foreign",
  });
  expect(readdirSync(dataDir).toSorted()).toEqual(["photos", "thesis.txt"]);
});
