import { type Operation, PeerError, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { dump, fieldsOf, openStore, problems } from "../support/open-store.ts";

function insert(id: Value, fields: Record<string, Value>, collection = "cars"): Operation {
  return { kind: "insert", collection, id, fields };
}

test("[K21] a request sees its own writes, and others see them after it is durable", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const written = store.transact((transaction) => {
    transaction.apply([insert("a", { color: "blue" })]);
    return transaction.view.get("cars", "a")?.fields;
  });
  await Promise.resolve();
  expect(fieldsOf(store, "cars", "a")).toBeUndefined();
  disk.releaseSyncs();
  expect(await written).toEqual({ txnId: 1, result: { color: "blue" } });
  expect(fieldsOf(store, "cars", "a")).toEqual({ color: "blue" });
});

test("[K21] a request that fails midway leaves nothing behind", async () => {
  const { store, storage } = await openStore();
  const before = dump(storage);
  const failed = store.transact((transaction) => {
    transaction.apply([insert("a", { n: 1 })]);
    throw new PeerError("operation.refused", "changed my mind");
  });
  await expect(failed).rejects.toThrow("changed my mind");
  expect(dump(storage)).toEqual(before);
});

test("[K24] a request that changes nothing takes no txnId and reports the last one", async () => {
  const { store } = await openStore();
  await store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  const nothing = await store.transact((transaction) =>
    transaction.apply([{ kind: "delete", collection: "cars", id: "b" }]),
  );
  expect(nothing).toEqual({ txnId: 1, result: ["missing"] });
  const next = await store.transact((transaction) => transaction.apply([insert("b", { n: 2 })]));
  expect(next.txnId).toBe(2);
});

test("[K24] txnIds and the clock continue after a restart, also with a wall clock that went back", async () => {
  const { store, disk, platform } = await openStore();
  await store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  const time = store.read((snapshot) => snapshot.head.time);
  await store.close();
  platform.nowMs -= 3_600_000;
  const again = await openStore({}, platform, disk);
  expect(again.store.identity).toEqual(store.identity);
  const update: Operation = {
    kind: "update",
    collection: "cars",
    id: "a",
    edits: [{ kind: "set", path: ["n"], value: 2 }],
  };
  const { txnId } = await again.store.transact((transaction) => transaction.apply([update]));
  expect(txnId).toBe(2);
  expect(again.store.read((snapshot) => snapshot.head.time)).toBe(time + 1);
  expect(fieldsOf(again.store, "cars", "a")).toEqual({ n: 2 });
});

test("[K5] a snapshot keeps its state and txnId while writes continue", async () => {
  const { store } = await openStore();
  await store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  const snapshot = store.snapshot();
  await store.transact((transaction) => transaction.apply([insert("b", { n: 2 })]));
  expect(snapshot.txnId).toBe(1);
  expect([...snapshot.scan("cars")].map((document) => document.id)).toEqual(["a"]);
  expect(snapshot.count("cars")).toBe(1);
  snapshot.close();
  expect(store.read((later) => later.count("cars"))).toBe(2);
});

test("[D27] a statement takes one tick for all its writes, the next one a later tick", async () => {
  const { store } = await openStore();
  const { result } = await store.transact((transaction) => {
    transaction.apply([insert("a", { n: 1 }), insert("b", { n: 1 })]);
    transaction.apply([{ kind: "delete", collection: "cars", id: "a" }]);
    transaction.apply([insert("a", { n: 2 })]);
    return ["a", "b"].map((id) => transaction.view.state("cars", id).state.alive.time);
  });
  const [a, b] = result as [number, number];
  expect(a).toBe(b + 2);
  expect(fieldsOf(store, "cars", "a")).toEqual({ n: 2 });
});

test("[D26] a wall clock that jumped is refused until it is confirmed", async () => {
  const opened = await openStore();
  await opened.store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  opened.platform.nowMs += 366 * 86_400_000;
  const write = (store: Store): Promise<unknown> =>
    store.transact((transaction) => transaction.apply([insert("b", { n: 1 })]));
  await expect(write(opened.store)).rejects.toMatchObject({ code: "clock.ahead" });
  await opened.store.close();
  const accepted = await openStore({ isClockAccepted: true }, opened.platform, opened.disk);
  await write(accepted.store);
  expect(accepted.store.read((snapshot) => snapshot.count("cars"))).toBe(2);
});

test("[D26] a store that rested for months before it was opened accepts writes, and reports the rest", async () => {
  const DAY_MS = 86_400_000;
  const opened = await openStore();
  await opened.store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  await opened.store.close();
  opened.platform.nowMs += 31 * DAY_MS;
  const options = { startRestMsMax: 366 * DAY_MS };
  const { store, platform } = await openStore(options, opened.platform, opened.disk);
  expect(store.rest).toMatchObject({ days: 31, awakeMs: platform.nowMs });
  const write = (id: string): Promise<unknown> =>
    store.transact((transaction) => transaction.apply([insert(id, { n: 1 })]));
  // It may rest a while before its first write, but the clock may not leap again.
  platform.nowMs += 20 * DAY_MS;
  await write("b");
  platform.nowMs += 26 * DAY_MS;
  await expect(write("c")).rejects.toMatchObject({ code: "clock.ahead" });
  await store.close();

  // One that was opened soon has nothing to say; a longer rest is refused as ever.
  platform.nowMs -= 26 * DAY_MS;
  const soon = await openStore(options, platform, opened.disk);
  expect(soon.store.rest).toBeUndefined();
  await soon.store.close();
  platform.nowMs += 367 * DAY_MS;
  const late = await openStore(options, platform, opened.disk);
  expect(late.store.rest).toBeUndefined();
  await expect(
    late.store.transact((transaction) => transaction.apply([insert("d", { n: 1 })])),
  ).rejects.toMatchObject({ code: "clock.ahead" });
});

test("[K78] in the first day after a long rest nothing expires by the new time", async () => {
  const DAY_MS = 86_400_000;
  const opened = await openStore();
  await opened.store.transact((transaction) => transaction.apply([insert("a", { n: 1 })]));
  await opened.store.close();
  let elapsedMs = 0;
  const platform = { ...opened.platform, nowMs: opened.platform.nowMs + 100 * DAY_MS };
  const awake = { ...platform, now: () => platform.nowMs, elapsed: () => elapsedMs };
  const options = { startRestMsMax: 366 * DAY_MS };
  const { store } = await openStore(options, awake, opened.disk);
  await store.transact((transaction) => transaction.apply([insert("b", { n: 1 })]));
  const logCount = (): number => store.read((snapshot) => snapshot.head.logCount);
  expect(await store.maintain()).toBe(0);
  expect(logCount()).toBe(2);
  elapsedMs += DAY_MS;
  await store.maintain();
  expect(logCount()).toBeLessThan(3);
  expect(await store.maintain()).toBe(0);
});

test("[K28] counts and the change index follow inserts, updates and deletes", async () => {
  const { store, storage } = await openStore();
  await store.transact((transaction) =>
    transaction.apply([
      insert("a", { n: 1 }),
      insert("b", { n: 1 }),
      insert("c", { n: 1 }, "dogs"),
    ]),
  );
  await store.transact((transaction) =>
    transaction.apply([{ kind: "delete", collection: "cars", id: "a" }]),
  );
  store.read((snapshot) => {
    expect(snapshot.collections()).toEqual(["cars", "dogs"]);
    expect([snapshot.count("cars"), snapshot.count("dogs"), snapshot.count("none")]).toEqual([
      1, 1, 0,
    ]);
    expect([...snapshot.changedSince("cars", 0)]).toEqual([
      { id: "b", version: 1 },
      { id: "a", version: 2 },
    ]);
    expect([...snapshot.changedSince("cars", 1)]).toEqual([{ id: "a", version: 2 }]);
  });
  expect(problems(storage)).toEqual([]);
});

test("[V8] ids of every type are distinct and found in any key order", async () => {
  const { store } = await openStore();
  const ids: Value[] = [1, "1", true, new Uint8Array([1]), [1, null], { a: 1, b: "x" }, 2n ** 60n];
  await store.transact((transaction) =>
    transaction.apply(ids.map((id, i) => insert(id, { n: i }))),
  );
  for (const [i, id] of ids.entries()) expect(fieldsOf(store, "cars", id)).toEqual({ n: i });
  expect(fieldsOf(store, "cars", { b: "x", a: 1 })).toEqual({ n: 5 });
  await expect(
    store.transact((transaction) => transaction.apply([insert(null, {})])),
  ).rejects.toMatchObject({ code: "id.invalid" });
  await expect(
    store.transact((transaction) => transaction.apply([insert(1.5, {})])),
  ).rejects.toMatchObject({ code: "id.invalid" });
});

test("the catalog keeps named records, changed by logged operations", async () => {
  const { store } = await openStore();
  const put = (value: Value): Operation => ({
    kind: "catalog",
    section: "index",
    name: "i",
    value,
  });
  await store.transact((transaction) => transaction.apply([put({ on: "color" })]));
  expect(store.read((snapshot) => snapshot.catalog("index", "i"))).toEqual({ on: "color" });
  const again = await store.transact((transaction) => transaction.apply([put({ on: "color" })]));
  expect(again).toEqual({ txnId: 1, result: ["unchanged"] });
  await store.transact((transaction) => transaction.apply([put(null)]));
  expect(store.read((snapshot) => snapshot.catalog("index", "i"))).toBeUndefined();
});

test("listeners receive each durable txnId until they stop", async () => {
  const { store } = await openStore();
  const heard: number[] = [];
  const stop = store.onCommit((txnId) => heard.push(txnId));
  await store.transact((transaction) => transaction.apply([insert("a", {})]));
  await store.transact((transaction) => transaction.apply([insert("b", {})]));
  await Promise.resolve();
  stop();
  await store.transact((transaction) => transaction.apply([insert("c", {})]));
  expect(heard).toEqual([1, 2]);
});

test("a closed store refuses writes and has finished the accepted ones", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const accepted = store.transact((transaction) => transaction.apply([insert("a", {})]));
  const closed = store.close();
  const refused = store.transact((transaction) => transaction.apply([insert("b", {})]));
  await expect(refused).rejects.toMatchObject({ code: "store.closed" });
  disk.releaseSyncs();
  await closed;
  expect((await accepted).txnId).toBe(1);
});

test("[K23] the store's txnId is the durable one, at once for an answered caller", async () => {
  const { store, disk, platform } = await openStore();
  expect(store.txnId).toBe(0);
  disk.holdSyncs();
  const reported = store
    .transact((transaction) => transaction.apply([insert("a", {})]))
    .then(({ txnId }) => [txnId, store.txnId]);
  for (let i = 0; i < 10; i++) await Promise.resolve();
  expect(store.txnId).toBe(0);
  disk.releaseSyncs();
  expect(await reported).toEqual([1, 1]);
  const again = await openStore({}, platform, disk);
  expect(again.store.txnId).toBe(1);
});

test("[K23] reading a snapshot before the writer is answered advances the store's txnId", async () => {
  const { store, disk } = await openStore();
  disk.holdSyncs();
  const wait = store.whenReached(1);
  const write = store.transact((transaction) => transaction.apply([insert("a", {})]));
  for (let i = 0; i < 10; i++) await Promise.resolve();
  disk.releaseSyncs();
  expect(store.txnId).toBe(0);
  expect(store.read((snapshot) => snapshot.txnId)).toBe(1);
  expect(store.txnId).toBe(1);
  expect(await wait.promise).toBe(true);
  await write;
});

test("[K24] a failed commit does not move the store's txnId", async () => {
  const { store, disk } = await openStore();
  const wait = store.whenReached(1n);
  disk.failNextWrite("store.full");
  const failed = store.transact((transaction) => transaction.apply([insert("a", {})]));
  await expect(failed).rejects.toMatchObject({ code: "store.full" });
  expect(store.txnId).toBe(0);
  await store.transact((transaction) => transaction.apply([insert("b", {})]));
  expect(store.txnId).toBe(2);
  expect(await wait.promise).toBe(true);
});

test("a wait ends when the store reaches its txnId, when it is cancelled, and when the store closes", async () => {
  const { store } = await openStore();
  const [first, second, third] = [1, 2, 2n ** 63n].map((txnId) => store.whenReached(txnId));
  expect(store.stats()).toEqual({ queueLength: 0, waiterCount: 3 });
  await store.transact((transaction) => transaction.apply([insert("a", {})]));
  expect(await first?.promise).toBe(true);
  second?.cancel();
  expect(await second?.promise).toBe(false);
  const [, closed] = await Promise.allSettled([store.close(), third?.promise]);
  expect(closed).toMatchObject({ status: "rejected", reason: { code: "store.closed" } });
  expect(store.stats()).toEqual({ queueLength: 0, waiterCount: 0 });
});

test("a closing store finishes accepted writes before it ends a wait for them", async () => {
  const { store } = await openStore();
  const wait = store.whenReached(1);
  const write = store.transact((transaction) => transaction.apply([insert("a", {})]));
  await store.close();
  expect([await wait.promise, (await write).txnId]).toEqual([true, 1]);
});

test("[K24] a transaction knows the id that it will have if it changes anything", async () => {
  const { store } = await openStore();
  const { txnId, result } = await store.transact((transaction) => {
    transaction.apply([insert("a", {})]);
    return transaction.txnId;
  });
  expect([txnId, result]).toEqual([1, 1]);
  const nothing = await store.transact((transaction) => transaction.txnId);
  expect(nothing).toEqual({ txnId: 1, result: 2 });
});
