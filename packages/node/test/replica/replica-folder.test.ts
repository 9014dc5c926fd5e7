import { existsSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { LogPosition } from "@bigpeer/engine/cluster";
import { FORMAT_VERSION, type Identity, Store } from "@bigpeer/engine/store";
import { expect, test } from "vitest";
import { forgetIncarnation } from "../../src/incarnation.ts";
import { openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { createStore, openReplicaStorage, openStore } from "../../src/store-folder.ts";
import { testHost } from "../support/store-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const FIRST: LogPosition = { sequence: 1, digest: new Uint8Array(32), epoch: 1, writer: "a.1" };

/** A closed store that follows a log, and was one of its own before. */
async function adoptedStore(): Promise<{ folder: string; identity: Identity }> {
  const folder = join(temporaryFolder(), "store");
  const alone = await createStore(folder, testHost());
  await alone.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id: "blue", fields: {} }]);
  });
  const { identity } = alone.store;
  await alone.close();
  forgetIncarnation(folder);
  const storage = await openReplicaStorage(folder, testHost());
  await storage.commitLogged(new Map(), async () => FIRST);
  await storage.close();
  return { folder, identity };
}

test("[K87] a store that followed a log begins a new history when it is opened without the log", async () => {
  const { folder, identity } = await adoptedStore();
  expect(existsSync(join(folder, "life.json"))).toBe(false);
  const replica = await openReplicaStorage(folder, testHost());
  expect(replica.position).toEqual(FIRST);
  await replica.close();

  const host = testHost();
  const alone = await openStore(folder, host);
  const { historyId, site } = alone.store.identity;
  expect(historyId).not.toBe(identity.historyId);
  expect(site).not.toBe(identity.site);
  expect(alone.store.read((snapshot) => snapshot.get("cars", "blue")?.fields)).toEqual({});
  await alone.close();
  expect(host.lines).toEqual([
    `warn this folder is a copy: ${folder}, nothing tells that its data file was written here; ` +
      `it begins the history ${historyId}`,
  ]);
  const again = await openReplicaStorage(folder, testHost());
  expect(again.position).toBeUndefined();
  await again.close();
});

test("a record of an incarnation beside a storage that follows a log is removed", async () => {
  const folder = join(temporaryFolder(), "store");
  await (await createStore(folder, testHost())).close();
  const storage = await openReplicaStorage(folder, testHost());
  expect(existsSync(join(folder, "life.json"))).toBe(true);
  await storage.commitLogged(new Map(), async () => FIRST);
  await storage.close();
  await (await openReplicaStorage(folder, testHost())).close();
  expect(existsSync(join(folder, "life.json"))).toBe(false);
});

test("the storage of a replica is created where there is none, or an empty file", async () => {
  const folder = join(temporaryFolder(), "new", "store");
  const host = testHost();
  const storage = await openReplicaStorage(folder, host);
  expect(storage.position).toBeUndefined();
  await storage.close();
  truncateSync(join(folder, "data.mdb"), 0);
  rmSync(join(folder, "lock.mdb"));
  await (await openReplicaStorage(folder, host)).close();
  expect(host.lines).toEqual([]);
});

test("[K1] a replica of a newer format is refused", async () => {
  const folder = join(temporaryFolder(), "store");
  const storage = openLmdb(folder);
  const format = { version: FORMAT_VERSION + 1, migrations: [] };
  await (await Store.open(storage, testHost().platform, { format })).close();
  await storage.close();
  await expect(openReplicaStorage(folder, testHost())).rejects.toMatchObject({
    code: "store.format_newer",
  });
});
