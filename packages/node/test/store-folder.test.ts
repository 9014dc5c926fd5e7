import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { KeyValue } from "@bigpeer/engine";
import { FORMAT_VERSION, type Format, type Identity, Store } from "@bigpeer/engine/store";
import { expect, test } from "vitest";
import { openJournaled } from "../src/journal/journaled-key-value.ts";
import { openLmdb } from "../src/lmdb/lmdb-key-value.ts";
import { createStore, openStore, readStore, type StoreFolder } from "../src/store-folder.ts";
import { testHost } from "./support/store-host.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

async function insert({ store }: StoreFolder, id: string): Promise<number> {
  const { txnId } = await store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "cars", id, fields: { name: id } }]);
  });
  return txnId;
}

function txnIdOf({ store }: StoreFolder): number {
  return store.read((snapshot) => snapshot.txnId);
}

/** A closed store with one document. */
async function madeStore(): Promise<{ folder: string; identity: Identity; txnId: number }> {
  const folder = join(temporaryFolder(), "store");
  const opened = await createStore(folder, testHost());
  const txnId = await insert(opened, "blue");
  const { identity } = opened.store;
  await opened.close();
  await opened.close();
  return { folder, identity, txnId };
}

test("a store keeps its history and site after a restart, and nothing is logged", async () => {
  const { folder, identity, txnId } = await madeStore();
  const host = testHost();
  const again = await openStore(folder, host);
  expect(again.store.identity).toEqual(identity);
  expect(txnIdOf(again)).toBe(txnId);
  await again.close();
  expect(host.lines).toEqual([]);
});

test("[K26] a copied store starts a new incarnation, and the original continues", async () => {
  const { folder, identity, txnId } = await madeStore();
  const copyFolder = `${folder}-copy`;
  cpSync(folder, copyFolder, { recursive: true });
  const host = testHost();
  const copy = await openStore(copyFolder, host);
  const { historyId, site } = copy.store.identity;
  expect(historyId).not.toBe(identity.historyId);
  expect(site).not.toBe(identity.site);
  expect(txnIdOf(copy)).toBeGreaterThan(txnId);
  expect(copy.store.read((snapshot) => snapshot.get("cars", "blue")?.fields)).toEqual({
    name: "blue",
  });
  expect(host.lines).toEqual([
    `warn this folder is a copy: ${copyFolder}, its data file is not the one that was written ` +
      `here; it begins the history ${historyId}`,
  ]);
  await copy.close();
  const copyAgain = await openStore(copyFolder, host);
  expect(copyAgain.store.identity).toEqual(copy.store.identity);
  await copyAgain.close();
  const original = await openStore(folder, host);
  expect(original.store.identity).toEqual(identity);
  await original.close();
  expect(host.lines).toHaveLength(1);
});

test("[K26] an older data file written over the newer one starts a new incarnation", async () => {
  const { folder, identity } = await madeStore();
  const older = join(folder, "..", "older.mdb");
  copyFileSync(join(folder, "data.mdb"), older);
  const opened = await openStore(folder, testHost());
  await insert(opened, "red");
  await opened.close();
  copyFileSync(older, join(folder, "data.mdb"));
  const host = testHost();
  const restored = await openStore(folder, host);
  expect(restored.store.identity.historyId).not.toBe(identity.historyId);
  expect(host.lines).toHaveLength(1);
  expect(host.lines[0]).toContain("its data file is an older one, of transaction 1;");
  await restored.close();
});

test("a store that lost its incarnation record starts a new incarnation", async () => {
  const { folder, identity } = await madeStore();
  rmSync(join(folder, "life.json"));
  const host = testHost();
  const opened = await openStore(folder, host);
  expect(opened.store.identity.historyId).not.toBe(identity.historyId);
  expect(host.lines).toHaveLength(1);
  await opened.close();
  expect(JSON.parse(readFileSync(join(folder, "life.json"), "utf8"))).toMatchObject({
    historyId: opened.store.identity.historyId,
    txnId: txnIdOfRecord(folder),
  });
});

function txnIdOfRecord(folder: string): unknown {
  return JSON.parse(readFileSync(join(folder, "life.json"), "utf8")).txnId;
}

test("a missing store that must exist is not created", async () => {
  const folder = join(temporaryFolder(), "store");
  const refusal = { code: "store.corrupt", message: `expected a store in ${folder}, found none` };
  await expect(openStore(folder, testHost())).rejects.toMatchObject(refusal);
  expect(existsSync(folder)).toBe(false);
  mkdirSync(folder);
  await openLmdb(folder).close();
  await expect(openStore(folder, testHost())).rejects.toMatchObject(refusal);
});

test("[K1] a store of a newer format is refused with both numbers and is not renewed", async () => {
  const folder = join(temporaryFolder(), "store");
  const storage = openLmdb(folder);
  const host = testHost();
  const newer = await Store.open(storage, host.platform, {
    format: { version: FORMAT_VERSION + 1, migrations: [] },
  });
  await newer.close();
  await storage.close();
  for (const open of [openStore, createStore]) {
    await expect(open(folder, host)).rejects.toMatchObject({
      code: "store.format_newer",
      message:
        `the store has format ${FORMAT_VERSION + 1}, this version reads up to ${FORMAT_VERSION}; ` +
        "use the version that wrote it, or a newer one",
    });
  }
  const reader = openLmdb(folder, { readOnly: true });
  const snapshot = reader.snapshot();
  expect(snapshot.get("s")).toEqual(newer.identity);
  snapshot.close();
  await reader.close();
});

test("[K1] a killed store of a newer format is refused before its journal is replayed", async () => {
  const folder = join(temporaryFolder(), "store");
  const storage = await openJournaled(folder);
  const format: Format = { version: FORMAT_VERSION + 1, migrations: [] };
  const store = await Store.open(storage, testHost().platform, { format });
  storage.startJournal();
  await storage.commit(new Map([["z", 1]]));
  const killed = join(temporaryFolder(), "killed");
  cpSync(folder, killed, { recursive: true });
  await store.close();
  await storage.close();
  const before = readdirSync(killed);
  expect(before.some((name) => name.startsWith("journal"))).toBe(true);
  await expect(openStore(killed, testHost())).rejects.toMatchObject({ code: "store.format_newer" });
  expect(readdirSync(killed)).toEqual(before);
});

test("a store can be read next to the process that writes it", async () => {
  const { folder } = await madeStore();
  const opened = await openStore(folder, testHost());
  await insert(opened, "red");
  expect(await readStore(folder, (view) => view.count("cars"))).toBe(2);
  await opened.close();
});

test("an incarnation record that cannot be written is a warning, and the old one stays valid", async () => {
  const { folder, identity } = await madeStore();
  mkdirSync(join(folder, "life.json.partial"));
  const host = testHost();
  const opened = await openStore(folder, host);
  expect(opened.store.identity).toEqual(identity);
  await opened.close();
  expect(host.lines).toHaveLength(2);
  for (const line of host.lines) {
    expect(line).toContain(`warn failed to write life.json in ${folder}: EISDIR`);
  }
});

test("an empty data file without any record was never a store, and becomes one", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "data.mdb"), "");
  const host = testHost();
  const made = await createStore(folder, host);
  await insert(made, "blue");
  await made.close();
  expect(host.lines).toEqual([]);
});

test("an empty data file where a store existed is reported as damage, and left unchanged", async () => {
  const { folder } = await madeStore();
  truncateSync(join(folder, "data.mdb"), 0);
  const opening = createStore(folder, testHost());
  await expect(opening).rejects.toThrow("expected an LMDB file, found an empty one");
  expect(readFileSync(join(folder, "data.mdb"))).toHaveLength(0);
});

test("a store whose process was killed during creation continues, and is not taken for a copy", async () => {
  const folder = join(temporaryFolder(), "store");
  const host = testHost();
  const identities: Identity[] = [];
  // The identity is durable, and the record of its life was not written yet: a failure in between
  // leaves what a kill leaves.
  const open = async (storage: KeyValue): Promise<Store> => {
    const store = await Store.open(storage, host.platform);
    identities.push(store.identity);
    await store.close();
    throw new Error("killed");
  };
  await expect(createStore(folder, { ...host, open })).rejects.toThrow("killed");
  const opened = await createStore(folder, host);
  expect(opened.store.identity).toEqual(identities[0]);
  await opened.close();
  expect(host.lines).toEqual([]);
  cpSync(folder, `${folder}-copy`, { recursive: true });
  const copy = await createStore(`${folder}-copy`, host);
  expect(copy.store.identity.site).not.toBe(identities[0]?.site);
  await copy.close();
  expect(host.lines).toHaveLength(1);
});

test("a copy of an unfinished store is a copy nevertheless", async () => {
  const folder = join(temporaryFolder(), "store");
  const host = testHost();
  const open = async (storage: KeyValue): Promise<Store> => {
    await (await Store.open(storage, host.platform)).close();
    throw new Error("killed");
  };
  await expect(createStore(folder, { ...host, open })).rejects.toThrow("killed");
  cpSync(folder, `${folder}-copy`, { recursive: true });
  await (await createStore(`${folder}-copy`, host)).close();
  expect(host.lines).toHaveLength(1);
  expect(host.lines[0]).toContain("this folder is a copy");
});

test("an empty data file of a store that was never finished is not damage", async () => {
  const folder = temporaryFolder();
  const host = testHost();
  const open = (): Promise<Store> => Promise.reject(new Error("killed"));
  await expect(createStore(folder, { ...host, open })).rejects.toThrow("killed");
  truncateSync(join(folder, "data.mdb"), 0);
  await (await createStore(folder, host)).close();
  expect(host.lines).toEqual([]);
});
