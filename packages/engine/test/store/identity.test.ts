import { EPOCH_MS } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { FORMAT_VERSION, type Format, renewIdentity } from "../../src/store/identity.ts";
import { HEAD_KEY, IDENTITY_KEY } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store } from "../../src/store/store.ts";
import { dump, fieldsOf, openStore, problems } from "../support/open-store.ts";
import { testPlatform } from "../support/test-platform.ts";

async function write(store: Store, id: string): Promise<number> {
  const operation = { kind: "insert", collection: "c", id, fields: { n: 1 } } as const;
  return (await store.transact((transaction) => transaction.apply([operation]))).txnId;
}

test("[K1] a store of a newer format is refused and left unchanged", async () => {
  const { store, storage, disk, platform } = await openStore();
  await write(store, "a");
  await store.close();
  const newer = { ...store.identity, format: FORMAT_VERSION + 1 };
  await storage.commit(new Map([[IDENTITY_KEY, newer]]));
  const before = dump(storage);
  await expect(openStore({}, platform, disk)).rejects.toMatchObject({
    code: "store.format_newer",
    message: expect.stringContaining(`format ${FORMAT_VERSION + 1}`) as string,
  });
  expect(dump(storage)).toEqual(before);
});

test("[K1] an older store is migrated step by step, each step with its number", async () => {
  const { store, disk, platform } = await openStore();
  await write(store, "a");
  await store.close();
  const seen: number[] = [];
  const step = (from: number): Format["migrations"][number] => ({
    from,
    migrate: (storage) => {
      seen.push(dump(storage as MemoryKeyValue).get(IDENTITY_KEY) === undefined ? -1 : from);
      return new Map([[`c\x00migrated ${from}`, true]]);
    },
  });
  const [first, second, third] = [0, 1, 2].map((n) => FORMAT_VERSION + n) as [
    number,
    number,
    number,
  ];
  const format: Format = { version: third, migrations: [step(second), step(first)] };
  const opened = await openStore({ format }, platform, disk);
  expect(seen).toEqual([first, second]);
  expect(opened.store.identity).toEqual({ ...store.identity, format: third });
  expect(dump(opened.storage).get(`c\x00migrated ${second}`)).toBe(true);
  expect(fieldsOf(opened.store, "c", "a")).toEqual({ n: 1 });
});

test("[K1] a format that no migration reaches is refused", async () => {
  const { store, disk, platform } = await openStore();
  await store.close();
  const format: Format = { version: FORMAT_VERSION + 1, migrations: [] };
  await expect(openStore({ format }, platform, disk)).rejects.toMatchObject({
    code: "store.foreign",
  });
});

test("[K1] foreign data is refused and left unchanged", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["somebody", "else"]]));
  await expect(openStore({}, testPlatform(), disk)).rejects.toMatchObject({
    code: "store.foreign",
  });
  expect(dump(storage)).toEqual(new Map([["somebody", "else"]]));
});

test("[K26] a renewed store has another history and site, higher txnIds and an empty log", async () => {
  const { store, storage, disk, platform } = await openStore();
  await write(store, "a");
  await write(store, "b");
  await store.close();
  const identity = await renewIdentity(storage, platform);
  expect(identity.historyId).not.toBe(store.identity.historyId);
  expect(identity.site).not.toBe(store.identity.site);
  const again = await openStore({}, platform, disk);
  const head = again.store.read((snapshot) => snapshot.head);
  expect(head.txnId).toBe((platform.nowMs - EPOCH_MS) * 1000);
  expect(head).toMatchObject({ floor: head.txnId, logCount: 0, logBytes: 0 });
  expect(fieldsOf(again.store, "c", "a")).toEqual({ n: 1 });
  expect(await write(again.store, "c")).toBe(head.txnId + 1);
  expect(problems(storage)).toEqual([]);
  const old = { historyId: store.identity.historyId, txnId: 2 };
  expect(again.store.read((snapshot) => snapshot.changesSince(old))).toMatchObject({
    kind: "rebase",
    reason: "history",
  });
});

test("[K26] renewing twice in the same microsecond still moves the txnId forward", async () => {
  const { storage, store, platform } = await openStore();
  await store.close();
  await renewIdentity(storage, platform);
  const first = dump(storage).get(HEAD_KEY) as { txnId: number };
  await renewIdentity(storage, platform);
  const second = dump(storage).get(HEAD_KEY) as { txnId: number };
  expect(second.txnId).toBe(first.txnId + 1);
});

test("[K26] two new stores have nothing in common", async () => {
  const one = await openStore({}, testPlatform(1));
  const two = await openStore({}, testPlatform(2));
  expect(one.store.identity.historyId).not.toBe(two.store.identity.historyId);
  expect(one.store.identity.site).not.toBe(two.store.identity.site);
});
