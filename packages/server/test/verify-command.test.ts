import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appStoreFolder, markDataFolder } from "../src/data-folder.ts";
import { openLmdb } from "../src/lmdb/lmdb-key-value.ts";
import { type App, Registry } from "../src/registry.ts";
import { verifyDataFolder } from "../src/verify-command.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

/** A data folder with one app, which has one document. */
async function dataFolder(): Promise<{ dataDir: string; app: App }> {
  const dataDir = temporaryFolder();
  markDataFolder(dataDir);
  const registry = await Registry.open(dataDir, testHost());
  const [app] = registry.apps();
  if (app === undefined) throw new Error("expected an app");
  const opened = await registry.openAppStore(app);
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields: { doors: 3 } }]);
  });
  await opened.close();
  await registry.close();
  return { dataDir, app };
}

async function run(dataDir: string): Promise<{ count: number; lines: string[] }> {
  const lines: string[] = [];
  const count = await verifyDataFolder(dataDir, (line) => lines.push(line));
  return { count, lines };
}

test("a sound folder has no problems, and each store is told with what it holds", async () => {
  const { dataDir, app } = await dataFolder();
  expect(await run(dataDir)).toEqual({
    count: 0,
    lines: [
      expect.stringMatching(/^registry: keys \d+, documents 1, transactions 1$/),
      expect.stringMatching(
        new RegExp(`^app ${app.id} \\(default\\): keys \\d+, documents 1, transactions 1$`),
      ),
      "no problems found",
    ],
  });
});

test("each problem of a store is one line with its key", async () => {
  const { dataDir, app } = await dataFolder();
  const storage = openLmdb(appStoreFolder(dataDir, app.id));
  await storage.commit(new Map([["z-what", 1]]));
  await storage.close();
  const { count, lines } = await run(dataDir);
  expect(count).toBe(1);
  expect(lines.slice(2)).toEqual([
    `app ${app.id} (default): problem at z:2d77686174: expected a key of the storage format`,
    "problems found: 1",
  ]);
});

test("a store that cannot be opened is a problem, and the others are still read", async () => {
  const { dataDir, app } = await dataFolder();
  truncateSync(join(appStoreFolder(dataDir, app.id), "data.mdb"), 100);
  const { count, lines } = await run(dataDir);
  expect(count).toBe(1);
  expect(lines[0]).toMatch(/^registry: keys/);
  expect(lines[1]).toMatch(new RegExp(`^app ${app.id} \\(default\\): problem: expected `));
});

test("without a registry the apps are found by their folders", async () => {
  const { dataDir, app } = await dataFolder();
  rmSync(join(dataDir, "registry"), { recursive: true });
  const { count, lines } = await run(dataDir);
  expect(count).toBe(1);
  expect(lines[0]).toMatch(/^registry: problem: /);
  expect(lines[1]).toMatch(new RegExp(`^app ${app.id} \\(name not known\\): keys`));
});

test("a folder that belongs to no app is noted and is no problem", async () => {
  const { dataDir } = await dataFolder();
  mkdirSync(join(dataDir, "apps", "left-over"));
  const { count, lines } = await run(dataDir);
  expect(count).toBe(0);
  expect(lines).toContain("note: the folder apps/left-over belongs to no app and is not used");
});

test("a folder that is no data folder is refused", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "thesis.txt"), "");
  await expect(run(folder)).rejects.toMatchObject({ code: "store.foreign" });
});
