import { type Operation, PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { QUEUE_LENGTH_MAX } from "../../src/limits.ts";
import type { Flush } from "../../src/store/commit-queue.ts";
import type { Store } from "../../src/store/store.ts";
import { fieldsOf, openStore, problems } from "../support/open-store.ts";
import { testPlatform } from "../support/test-platform.ts";

function put(store: Store, id: string, n = 0): Promise<number> {
  const operation: Operation = { kind: "insert", collection: "c", id, fields: { n } };
  return store.transact((transaction) => transaction.apply([operation])).then(({ txnId }) => txnId);
}

/** A transaction that a crash may lose. */
function relaxed(store: Store, id: string): Promise<number> {
  const operation: Operation = { kind: "insert", collection: "c", id, fields: { n: 0 } };
  return store
    .transact((transaction) => transaction.apply([operation]), { durability: "relaxed" })
    .then(({ txnId }) => txnId);
}

function increment(store: Store, id: string): Promise<number> {
  return store
    .transact((transaction) => {
      const n = (transaction.get("c", id)?.fields["n"] as number) + 1;
      const edits = [{ kind: "set", path: ["n"], value: n }] as const;
      transaction.apply([{ kind: "update", collection: "c", id, edits }]);
      return n;
    })
    .then(({ result }) => result);
}

test("[K22] requests that wait together share one commit and have their own txnIds", async () => {
  const { store, disk } = await openStore();
  const before = disk.syncCount;
  const txnIds = await Promise.all(Array.from({ length: 64 }, (_, i) => put(store, `d${i}`)));
  expect(txnIds).toEqual(Array.from({ length: 64 }, (_, i) => i + 1));
  expect(disk.syncCount - before).toBe(1);
});

test("[K22] requests that arrive during a flush form the next group, evaluated over it", async () => {
  const { store, disk } = await openStore();
  await put(store, "x", 0);
  disk.holdSyncs();
  const first = increment(store, "x");
  await Promise.resolve();
  await Promise.resolve();
  const others = [increment(store, "x"), increment(store, "x")];
  const before = disk.syncCount;
  disk.releaseSyncs();
  expect(await first).toBe(1);
  expect(await Promise.all(others)).toEqual([2, 3]);
  expect(disk.syncCount - before).toBe(2);
  expect(fieldsOf(store, "c", "x")).toEqual({ n: 3 });
});

test("[K22] requests that arrive while the answers of a group are sent join the next one", async () => {
  const platform = { ...testPlatform(), elapsed: (): number => 0 };
  const { store, disk } = await openStore({}, platform);
  await put(store, "x", 0);
  disk.holdSyncs();
  const first = increment(store, "x");
  await Promise.resolve();
  await Promise.resolve();
  const second = increment(store, "x");
  const before = disk.syncCount;
  disk.releaseSyncs();
  await first;
  expect(await Promise.all([second, increment(store, "x")])).toEqual([2, 3]);
  expect(disk.syncCount - before).toBe(2);
});

test("[K23] no answer, error or read shows an unflushed write", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const settled: string[] = [];
  const write = put(store, "a").then(() => settled.push("write"));
  const reader = store
    .transact((transaction) => transaction.get("c", "a") !== undefined)
    .then(({ txnId, result }) => settled.push(`read ${result} at ${txnId}`));
  const refusal = store
    .transact((transaction) => {
      if (transaction.get("c", "a") !== undefined) {
        throw new PeerError("operation.refused", "it exists");
      }
    })
    .catch((error: Error) => settled.push(error.message));
  for (let i = 0; i < 20; i++) await Promise.resolve();
  expect(settled).toEqual([]);
  expect(store.read((snapshot) => snapshot.txnId)).toBe(0);
  disk.releaseSyncs();
  await Promise.all([write, reader, refusal]);
  expect(settled.sort()).toEqual(["it exists", "read true at 1", "write"]);
});

test("[K24] a failed commit fails its own requests; later ones are evaluated again", async () => {
  const { store, disk, storage } = await openStore();
  await put(store, "x", 10);
  disk.holdSyncs();
  disk.failNextWrite("store.full");
  const doomed = [increment(store, "x"), put(store, "lost")];
  await Promise.resolve();
  await Promise.resolve();
  let evaluations = 0;
  const survivor = store.transact((transaction) => {
    evaluations++;
    const n = (transaction.get("c", "x")?.fields["n"] as number) + 1;
    const edits = [{ kind: "set", path: ["n"], value: n }] as const;
    transaction.apply([{ kind: "update", collection: "c", id: "x", edits }]);
    return n;
  });
  disk.releaseSyncs();
  for (const request of doomed) await expect(request).rejects.toMatchObject({ code: "store.full" });
  expect(await survivor).toEqual({ txnId: 5, result: 11 });
  expect(evaluations).toBe(2);
  expect(fieldsOf(store, "c", "x")).toEqual({ n: 11 });
  expect(fieldsOf(store, "c", "lost")).toBeUndefined();
  expect(problems(storage)).toEqual([]);
});

test("[K24] txnIds of failed groups are not used again in the same incarnation", async () => {
  const { store, disk } = await openStore();
  expect(await put(store, "a")).toBe(1);
  disk.failNextWrite("store.write_failed");
  await expect(put(store, "b")).rejects.toMatchObject({ code: "store.write_failed" });
  expect(await put(store, "c")).toBe(3);
});

test("a request whose evaluation throws a non-error fails alone", async () => {
  const { store } = await openStore();
  const odd = store.transact(() => {
    throw new TypeError("not a PeerError");
  });
  const good = put(store, "a");
  await expect(odd).rejects.toThrow("not a PeerError");
  expect(await good).toBe(1);
});

test("a transaction cannot be used after its request returned", async () => {
  const { store } = await openStore();
  await put(store, "b");
  let kept: unknown;
  await store.transact((transaction) => {
    transaction.get("c", "b");
    kept = transaction;
  });
  const transaction = kept as { get(collection: string, id: string): unknown };
  for (const id of ["a", "b"]) expect(() => transaction.get("c", id)).toThrow(PeerError);
});

test("more requests than the queue holds are refused as busy, and none is lost", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const first = put(store, "first");
  await Promise.resolve();
  await Promise.resolve();
  const waiting: Promise<unknown>[] = [];
  for (let i = 0; i < QUEUE_LENGTH_MAX; i++) waiting.push(store.transact(() => i));
  await expect(put(store, "too many")).rejects.toMatchObject({ code: "store.busy" });
  disk.releaseSyncs();
  await first;
  expect(await Promise.all(waiting)).toHaveLength(QUEUE_LENGTH_MAX);
  expect(await put(store, "again")).toBe(2);
});

/** What a flush did, without what no test can know: how long it took, how large a record is. */
function counts({ bytes, elapsedMs, ...rest }: Flush): unknown {
  expect(bytes).toBeGreaterThan(0);
  expect(elapsedMs).toBeGreaterThanOrEqual(0);
  return rest;
}

test("listeners are notified of each flush that writes, failed ones too, until they stop", async () => {
  const { store, disk } = await openStore();
  const flushes: Flush[] = [];
  const stop = store.onFlush((flush) => flushes.push(flush));
  await Promise.all([put(store, "a"), put(store, "b"), store.transact(() => "nothing")]);
  await store.transact(() => "no flush");
  disk.failNextWrite("store.full");
  await expect(put(store, "c")).rejects.toMatchObject({ code: "store.full" });
  await put(store, "d");
  await Promise.resolve();
  stop();
  await put(store, "e");
  expect(flushes.map(counts)).toEqual([
    { requests: 3, transactions: 2, isFailed: false },
    { requests: 1, transactions: 1, isFailed: true },
    { requests: 1, transactions: 1, isFailed: false },
  ]);
});

test("the duration of a flush is the time of the storage alone", async () => {
  const clock = { ms: 100 };
  const platform = { ...testPlatform(), elapsed: (): number => clock.ms };
  const { store, disk } = await openStore({}, platform);
  const flushes: Flush[] = [];
  store.onFlush((flush) => flushes.push(flush));
  disk.holdSyncs();
  const write = put(store, "a");
  for (let i = 0; i < 10; i++) await Promise.resolve();
  clock.ms = 142;
  disk.releaseSyncs();
  await write;
  await Promise.resolve();
  expect(flushes.map(({ elapsedMs }) => elapsedMs)).toEqual([42]);
});

test("the length of the queue counts all requests that are not answered yet", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const flushing = [put(store, "a"), put(store, "b")];
  expect(store.stats().queueLength).toBe(2);
  for (let i = 0; i < 10; i++) await Promise.resolve();
  const waiting = put(store, "c");
  expect(store.stats().queueLength).toBe(3);
  disk.syncNext();
  await Promise.all(flushing);
  expect(store.stats().queueLength).toBe(1);
  disk.releaseSyncs();
  await waiting;
  expect(store.stats().queueLength).toBe(0);
});

test("[K23] a group of relaxed transactions is one relaxed commit", async () => {
  const { store, disk } = await openStore();
  await Promise.all([relaxed(store, "a"), relaxed(store, "b"), store.transact(() => "nothing")]);
  await relaxed(store, "c");
  expect(disk.relaxedCount).toBe(2);
});

test("[K23] a group with one strict transaction is a strict commit", async () => {
  const { store, disk } = await openStore();
  await relaxed(store, "a");
  expect(disk.relaxedCount).toBe(1);
  await Promise.all([relaxed(store, "b"), put(store, "c"), relaxed(store, "d")]);
  expect(disk.relaxedCount).toBe(0);
  disk.crash({ relaxedLost: 9 });
  const { store: again } = await openStore({}, testPlatform(), disk);
  expect(["a", "b", "c", "d"].map((id) => fieldsOf(again, "c", id))).toEqual(
    Array.from({ length: 4 }, () => ({ n: 0 })),
  );
});

test("[K24] after a crash only the txnIds of lost relaxed transactions are used again", async () => {
  const { store, disk } = await openStore();
  expect(await put(store, "a")).toBe(1);
  expect([await relaxed(store, "b"), await relaxed(store, "c")]).toEqual([2, 3]);
  disk.crash({ relaxedLost: 1 });
  const { store: again } = await openStore({}, testPlatform(), disk);
  expect(fieldsOf(again, "c", "b")).toEqual({ n: 0 });
  expect(fieldsOf(again, "c", "c")).toBeUndefined();
  expect(await put(again, "d")).toBe(3);
});
