import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";

function valueOn(disk: MemoryDisk, key: string): Value | undefined {
  return new MemoryKeyValue(disk).snapshot().get(key);
}

/** Lets everything run that is ready to run, and tells whether `promise` is settled then. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let i = 0; i < 20; i++) await Promise.resolve();
  return settled;
}

test("synced writes survive a crash", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["a", 1]]));
  await storage.commit(new Map([["b", 2]]));
  disk.crash();
  expect(valueOn(disk, "a")).toBe(1);
  expect(valueOn(disk, "b")).toBe(2);
});

test("a commit whose sync is held back is neither acknowledged nor visible", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  disk.holdSyncs();
  const commit = storage.commit(new Map([["a", 1]]));
  expect(await isSettled(commit)).toBe(false);
  expect(disk.unsyncedCount).toBe(1);
  expect(storage.snapshot().get("a")).toBeUndefined();
  expect(disk.syncNext()).toBe(true);
  await commit;
  expect(storage.snapshot().get("a")).toBe(1);
  expect(disk.syncNext()).toBe(false);
});

test("released syncs no longer wait", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  disk.holdSyncs();
  const commit = storage.commit(new Map([["a", 1]]));
  expect(await isSettled(commit)).toBe(false);
  disk.releaseSyncs();
  await commit;
  await storage.commit(new Map([["a", 2]]));
  expect(valueOn(disk, "a")).toBe(2);
});

test("a crash loses writes that were not synced", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["a", 1]]));
  disk.holdSyncs();
  const commit = storage.commit(
    new Map([
      ["a", 2],
      ["b", 2],
    ]),
  );
  expect(await isSettled(commit)).toBe(false);
  disk.crash();
  disk.releaseSyncs();
  expect(await isSettled(commit)).toBe(false);
  expect(valueOn(disk, "a")).toBe(1);
  expect(valueOn(disk, "b")).toBeUndefined();
});

test("a crash may also occur after the sync and before the acknowledgement", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  disk.holdSyncs();
  const commit = storage.commit(new Map([["a", 2]]));
  expect(await isSettled(commit)).toBe(false);
  disk.crash({ unsynced: "kept" });
  expect(await isSettled(commit)).toBe(false);
  expect(valueOn(disk, "a")).toBe(2);
});

test("storages and snapshots opened before a crash no longer work", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["a", 1]]));
  const snapshot = storage.snapshot();
  const early = storage.commit(new Map([["a", 2]]));
  disk.crash();
  expect(() => storage.snapshot()).toThrow(expect.objectContaining({ code: "store.closed" }));
  expect(() => snapshot.get("a")).toThrow(expect.objectContaining({ code: "store.closed" }));
  expect(await isSettled(early)).toBe(false);
  expect(valueOn(disk, "a")).toBe(1);
  await storage.close();
});

test("a storage from before a crash cannot write to the disk of the next one", async () => {
  const disk = new MemoryDisk();
  const dead = new MemoryKeyValue(disk);
  disk.crash();
  const living = new MemoryKeyValue(disk);
  expect(await isSettled(dead.commit(new Map([["a", "dead"]])))).toBe(false);
  await living.commit(new Map([["b", "living"]]));
  expect(living.snapshot().get("a")).toBeUndefined();
  expect(living.snapshot().get("b")).toBe("living");
});

test("a disk that is set to fail refuses one commit and keeps its content", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["a", 1]]));
  for (const code of ["store.full", "store.write_failed"] as const) {
    disk.failNextWrite(code);
    await expect(storage.commit(new Map([["a", 2]]))).rejects.toMatchObject({ code });
    expect(storage.snapshot().get("a")).toBe(1);
  }
  await storage.commit(new Map([["a", 3]]));
  expect(storage.snapshot().get("a")).toBe(3);
});

test("close waits for a held commit, and continues if it fails", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  disk.holdSyncs();
  const commit = storage.commit(new Map([["a", 1]]));
  const close = storage.close();
  expect(await isSettled(close)).toBe(false);
  disk.releaseSyncs();
  await close;
  await commit;

  const failing = new MemoryKeyValue(disk);
  disk.failNextWrite("store.full");
  const refused = failing.commit(new Map([["a", 2]]));
  await Promise.all([
    expect(refused).rejects.toMatchObject({ code: "store.full" }),
    failing.close(),
  ]);
});

test("[K6] a crash takes the newest relaxed commits, none from before a strict one", async () => {
  const disk = new MemoryDisk();
  const commit = (key: string, durability: "strict" | "relaxed"): Promise<void> =>
    new MemoryKeyValue(disk).commit(new Map([[key, 1]]), { durability });
  const keys = (): string[] => ["a", "b", "c", "d"].filter((key) => valueOn(disk, key) === 1);
  await commit("a", "relaxed");
  await commit("b", "strict");
  await commit("c", "relaxed");
  await commit("d", "relaxed");
  expect(disk.relaxedCount).toBe(2);
  expect(keys()).toEqual(["a", "b", "c", "d"]);
  disk.crash({ relaxedLost: 1 });
  expect(keys()).toEqual(["a", "b", "c"]);
  // What a crash left is on the disk for good.
  disk.crash({ relaxedLost: 9 });
  expect(keys()).toEqual(["a", "b", "c"]);
  await commit("d", "relaxed");
  disk.crash({ relaxedLost: 9 });
  expect(keys()).toEqual(["a", "b", "c"]);
});

test("[K6] a commit that reached the disk unacknowledged has all relaxed ones before it", async () => {
  const disk = new MemoryDisk();
  const storage = new MemoryKeyValue(disk);
  await storage.commit(new Map([["a", 1]]), { durability: "relaxed" });
  disk.holdSyncs();
  void storage.commit(new Map([["b", 1]]));
  await Promise.resolve();
  disk.crash({ unsynced: "kept", relaxedLost: 1 });
  expect([valueOn(disk, "a"), valueOn(disk, "b")]).toEqual([1, 1]);
});
