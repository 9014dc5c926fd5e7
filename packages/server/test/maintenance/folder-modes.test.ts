import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "@bigpeer/node";
import { expect, test } from "vitest";
import { testPlatform } from "../../../engine/test/support/test-platform.ts";
import { testHost } from "../../../node/test/support/store-host.ts";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { AttachmentFolder } from "../../src/attachments/attachment-folder.ts";
import {
  appAttachmentsFolder,
  appStoreFolder,
  markDataFolder,
  prepareDataFolder,
} from "../../src/config/data-folder.ts";
import { backup, restore } from "../../src/maintenance/backup.ts";
import { Registry } from "../../src/registry/registry.ts";

/** A data folder with a registry, an app with documents, and an attachment. */
async function dataFolder(): Promise<string> {
  const dataDir = join(temporaryFolder(), "above", "data");
  prepareDataFolder(dataDir);
  markDataFolder(dataDir);
  const registry = await Registry.open(dataDir, testHost());
  const [app] = registry.apps.list();
  if (app === undefined) throw new Error("expected an app");
  const opened = await openStore(appStoreFolder(dataDir, app.id), testHost());
  await opened.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: 1, fields: { doors: 3 } }]);
  });
  const folder = appAttachmentsFolder(dataDir, app.id);
  const attachments = new AttachmentFolder({ folder, store: opened.store, sizeMax: 1_000 });
  async function* content(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("content");
  }
  await attachments.add(content(), "ann");
  await opened.close();
  await registry.close();
  return dataDir;
}

/** Files and folders that somebody else can read, write or enter. */
function openPaths(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  expect(names.length).toBeGreaterThan(5);
  return [".", ...names].filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
}

test("[K73] only the owner can access a data folder, its backup and a folder restored from it", async () => {
  const dataDir = await dataFolder();
  expect(openPaths(dataDir)).toEqual([]);
  expect(statSync(join(dataDir, "..")).mode & 0o077).toBe(0);
  for (const name of readdirSync(dataDir, { recursive: true, encoding: "utf8" })) {
    // As an older version left it.
    chmodSync(join(dataDir, name), statSync(join(dataDir, name)).isDirectory() ? 0o755 : 0o644);
  }
  const copies = temporaryFolder();
  await backup(dataDir, join(copies, "backup"));
  expect(openPaths(join(copies, "backup"))).toEqual([]);
  await restore(join(copies, "backup"), join(copies, "restored"), testPlatform());
  expect(openPaths(join(copies, "restored"))).toEqual([]);
});
