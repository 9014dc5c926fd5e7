import type { DocumentOperation, Operation, Value } from "@bigpeer/protocol";
import { timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { finish } from "../../src/steps.ts";
import { Applier } from "../../src/store/applier.ts";
import { deltaSince } from "../../src/store/change-log.ts";
import { IDENTITY_KEY, transactionKey } from "../../src/store/keys.ts";
import { STATES_MAX } from "../../src/store/open-documents.ts";
import { Overlay } from "../../src/store/overlay.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import type { Store } from "../../src/store/store.ts";
import { dump, fieldsOf, openStore, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomAttachmentOperation, randomMerge, randomOperation } from "../support/workload.ts";

const DAY_MS = 86_400_000;

function insert(id: Value, fields: Record<string, Value>): Operation {
  return { kind: "insert", collection: "c", id, fields };
}

function remove(id: Value): Operation {
  return { kind: "delete", collection: "c", id };
}

function increment(id: Value, by: number): DocumentOperation {
  return { kind: "update", collection: "c", id, edits: [{ kind: "increment", path: ["k"], by }] };
}

async function run(store: Store, ...steps: Operation[][]): Promise<string[][]> {
  const { result } = await store.transact((transaction) =>
    steps.map((operations) => transaction.apply(operations)),
  );
  return result;
}

async function randomHistory(seed: number): Promise<Awaited<ReturnType<typeof openStore>>> {
  const random = seededRandom(seed);
  const opened = await openStore();
  for (let i = 0; i < 12; i++) {
    opened.platform.nowMs += random.below(5);
    const foreign = timeOfMs(opened.platform.nowMs) - random.below(100_000);
    const count = 1 + random.below(3);
    const operations = Array.from({ length: count }, () => {
      if (random.chance(0.2)) return randomAttachmentOperation(random);
      if (random.chance(0.2)) return randomMerge(random, "00000000000000ee", foreign);
      return randomOperation(random);
    });
    await run(opened.store, ...operations.map((operation) => [operation]));
  }
  return opened;
}

test("[K20] replaying the log of a store gives the same keys and values", async () => {
  for (let seed = 1; seed <= histories(1000); seed++) {
    const { store, storage } = await randomHistory(seed);
    const original = dump(storage);
    original.delete(IDENTITY_KEY);
    expect(await replay(storage, store.identity.site), `seed ${seed}`).toEqual(original);
    expect(problems(storage), `seed ${seed}`).toEqual([]);
  }
}, 120_000);

test("[D21] a document's version is the transaction that changed it last", async () => {
  const { store } = await openStore();
  await run(store, [insert("a", { n: 1 }), insert("b", { n: 1 })]);
  await run(store, [increment("a", 1)]);
  store.read((snapshot) => {
    expect(snapshot.version("c", "a")).toBe(2);
    expect(snapshot.version("c", "b")).toBe(1);
    expect(snapshot.version("c", "never")).toBe(0);
    expect(snapshot.version("none", "a")).toBe(0);
  });
});

test("[K20] the log keeps operations with old values and the guards of what was read", async () => {
  const { store } = await openStore();
  await run(store, [insert("a", { n: 1, s: "x" }), insert("b", { n: 2 })]);
  await store.transact((transaction) => {
    transaction.get("c", "b");
    transaction.get("c", "nobody");
    const edits = [
      { kind: "set", path: ["n"], value: 5 },
      { kind: "set", path: ["t"], value: true },
    ] as const;
    transaction.apply([{ kind: "update", collection: "c", id: "a", edits }]);
  });
  await run(store, [remove("a")]);
  const log = (txnId: number): TransactionRecord =>
    store.read((snapshot) => snapshot.reader.get(transactionKey(txnId)) as TransactionRecord);
  expect(log(1).changes).toEqual([
    [0, 0, null],
    [1, 0, null],
  ]);
  expect(log(2).changes).toEqual([[0, 1, { fields: { n: 1 }, added: ["t"] }]]);
  expect(log(2).guards).toEqual([
    ["c", "b", 1],
    ["c", "nobody", 0],
  ]);
  expect(log(3).changes).toEqual([[0, 2, { fields: { n: 5, s: "x", t: true }, added: [] }]]);
});

test("[K20] a document that was read before and after its collection was created is guarded once", async () => {
  const { store, storage } = await openStore();
  await store.transact((transaction) => {
    transaction.get("c", "a");
    transaction.apply([insert("a", { n: 1 })]);
    transaction.get("c", "a");
  });
  store.read(({ reader }) => {
    const { guards } = reader.get(transactionKey(1)) as unknown as TransactionRecord;
    expect(guards).toEqual([["c", "a", 0]]);
  });
  const original = dump(storage);
  original.delete(IDENTITY_KEY);
  expect(await replay(storage, store.identity.site)).toEqual(original);
});

test("[D19] a merge that brings nothing new makes no transaction", async () => {
  const { store } = await openStore();
  const operation = randomMerge(seededRandom(3), "00000000000000ee", timeOfMs(1.76e12));
  await run(store, [operation]);
  const before = store.read((snapshot) => snapshot.txnId);
  expect(await run(store, [operation])).toEqual([["unchanged"]]);
  expect(store.read((snapshot) => snapshot.txnId)).toBe(before);
});

test("[D22] EVICT leaves no tombstone, and own sums survive the return of the document", async () => {
  const source = await openStore({}, undefined);
  const { store, storage } = source;
  await run(store, [insert("a", { n: 1 })]);
  await run(store, [increment("a", 10)]);
  const old = store.read(
    (snapshot) => deltaSince(snapshot, store.identity.site, { collection: "c", id: "a" }, 0).state,
  );
  await run(store, [increment("a", 5)]);
  expect(await run(store, [{ kind: "evict", collection: "c", id: "a" }])).toEqual([["applied"]]);
  expect(fieldsOf(store, "c", "a")).toBeUndefined();
  expect(store.read((snapshot) => snapshot.count("c"))).toBe(0);
  await run(store, [{ kind: "merge", collection: "c", id: "a", state: stateToBytes(old) }]);
  await run(store, [increment("a", 1)]);
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, k: 16 });
  expect(problems(storage)).toEqual([]);
});

test("[D22] EVICT of a document without own sums forgets it completely; a seed may come back", async () => {
  const { store, storage } = await openStore();
  await run(store, [insert("a", { n: 7 })]);
  await run(store, [{ kind: "evict", collection: "c", id: "a" }]);
  expect(store.read((snapshot) => snapshot.version("c", "a"))).toBe(0);
  await run(store, [{ kind: "initial", collection: "c", id: "a", fields: { n: 1 } }]);
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1 });
  expect(await run(store, [{ kind: "evict", collection: "c", id: "none" }])).toEqual([["missing"]]);
  expect(problems(storage)).toEqual([]);
});

test("[D23] the horizon forgets older deletes and UNSETs, and no shown fields", async () => {
  const { store, storage, platform } = await openStore();
  await run(store, [insert("gone", { n: 1 }), insert("kept", { n: 1, m: { x: 1, y: 2 } })]);
  const unset = { kind: "unset", path: ["m", "x"] } as const;
  await run(
    store,
    [remove("gone")],
    [{ kind: "update", collection: "c", id: "kept", edits: [unset] }],
  );
  platform.nowMs += DAY_MS;
  await run(store, [insert("late", {})], [remove("late")]);
  const horizon = timeOfMs(platform.nowMs - DAY_MS / 2);
  await run(store, [{ kind: "horizon", time: horizon }]);
  expect(store.read((snapshot) => snapshot.version("c", "gone"))).toBe(2);
  await run(store, [{ kind: "trim", upTo: 3 }], [{ kind: "horizon", time: horizon }]);
  store.read((snapshot) => {
    expect(snapshot.state("c", "gone").version).toBe(0);
    expect(snapshot.state("c", "late").version).toBeGreaterThan(0);
    expect(snapshot.get("c", "kept")?.fields).toEqual({ n: 1, m: { y: 2 } });
    expect(snapshot.state("c", "kept").state.root.get("m")?.map?.kids.has("x")).toBe(false);
  });
  expect(problems(storage)).toEqual([]);
});

test("[D24] the tombstone of a seeded document outlives the horizon", async () => {
  const { store, platform } = await openStore();
  const seed: Operation = { kind: "initial", collection: "c", id: "s", fields: { n: 1 } };
  await run(store, [seed], [remove("s")]);
  platform.nowMs += DAY_MS;
  await run(
    store,
    [{ kind: "trim", upTo: 1 }],
    [{ kind: "horizon", time: timeOfMs(platform.nowMs) }],
  );
  await run(store, [seed]);
  expect(fieldsOf(store, "c", "s")).toBeUndefined();
});

test("[D23] a write below the horizon to a document that is not held is stale and quarantined", async () => {
  const { store, storage, platform } = await openStore();
  const site = "00000000000000ee";
  const early = timeOfMs(platform.nowMs) - 5000;
  await run(store, [insert("a", { n: 1 })], [remove("a")]);
  platform.nowMs += DAY_MS;
  await run(
    store,
    [{ kind: "trim", upTo: 1 }],
    [{ kind: "horizon", time: timeOfMs(platform.nowMs) }],
  );
  await run(store, [insert("b", { n: 1 })]);
  const { result } = await store.transact((transaction) => [
    ...transaction.applyForeign({ time: early, site }, [insert("a", { n: 9 })]),
    ...transaction.applyForeign({ time: early, site }, [
      { kind: "update", collection: "c", id: "b", edits: [{ kind: "set", path: ["x"], value: 1 }] },
    ]),
    ...transaction.applyForeign({ time: early, site }, [
      { kind: "update", collection: "c", id: "b", edits: [{ kind: "set", path: ["n"], value: 0 }] },
    ]),
  ]);
  expect(result).toEqual(["stale", "stale", "unchanged"]);
  expect(fieldsOf(store, "c", "a")).toBeUndefined();
  expect(fieldsOf(store, "c", "b")).toEqual({ n: 1 });
  const quarantined = [...dump(storage)]
    .filter(([key]) => key.startsWith("a"))
    .map(([, value]) => value);
  expect(quarantined).toMatchObject([
    { site, operation: { id: "a" } },
    { site, operation: { id: "b" } },
  ]);
  expect(problems(storage)).toEqual([]);
});

test("[D18] [D23] a delta that would need what the horizon forgot becomes a whole state", async () => {
  const { store, platform } = await openStore();
  await run(store, [insert("a", { n: 1, m: 2 })]);
  const unset = { kind: "unset", path: ["n"] } as const;
  await run(store, [{ kind: "update", collection: "c", id: "a", edits: [unset] }]);
  const kind = (): string =>
    store.read(
      (snapshot) => deltaSince(snapshot, store.identity.site, { collection: "c", id: "a" }, 1).kind,
    );
  expect(kind()).toBe("delta");
  platform.nowMs += DAY_MS;
  await run(store, [{ kind: "horizon", time: timeOfMs(platform.nowMs) }]);
  expect(kind()).toBe("full");
});

test("[D22] [D24] EVICT of a deleted seed keeps its tombstone; a second EVICT changes nothing", async () => {
  const { store } = await openStore();
  const seed: Operation = { kind: "initial", collection: "c", id: "s", fields: { n: 1 } };
  const evict: Operation = { kind: "evict", collection: "c", id: "s" };
  await run(store, [seed], [remove("s")], [evict], [seed]);
  expect(fieldsOf(store, "c", "s")).toBeUndefined();
  await run(store, [insert("k", {})], [increment("k", 3)], [{ ...evict, id: "k" }]);
  expect(await run(store, [{ ...evict, id: "k" }])).toEqual([["unchanged"]]);
});

test("[D22] a write of another site to an evicted document reports that it is not held", async () => {
  const { store, platform } = await openStore();
  await run(store, [insert("a", { n: 1 })], [increment("a", 4)]);
  const whole = store.read(
    (snapshot) => deltaSince(snapshot, store.identity.site, { collection: "c", id: "a" }, 0).state,
  );
  await run(store, [{ kind: "evict", collection: "c", id: "a" }]);
  const stamp = { time: timeOfMs(platform.nowMs) + 50, site: "00000000000000ee" };
  const { result } = await store.transact((transaction) => [
    transaction.applyForeign(stamp, [increment("a", 1)]),
    transaction.applyForeign({ ...stamp, time: stamp.time + 1 }, [insert("a", { other: 1 })]),
  ]);
  expect(result).toEqual([["missing"], ["applied"]]);
  // Its first insert ends nothing: when the document comes back, both are there.
  await run(store, [{ kind: "merge", collection: "c", id: "a", state: stateToBytes(whole) }]);
  expect(fieldsOf(store, "c", "a")).toEqual({ n: 1, k: 4, other: 1 });
});

test("[K20] fields keep their order in a transaction that sets several, and are as decoded after it", async () => {
  const { store, storage } = await openStore();
  const set = (name: string, value: Value): Operation => {
    const edits = [{ kind: "set", path: [name], value }] as const;
    return { kind: "update", collection: "c", id: "a", edits };
  };
  await run(store, [insert("a", { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 })]);
  await run(store, [set("d", 2)], [set("c", 2)], [set("d", 3)], [increment("a", 1)]);
  expect(Object.keys(fieldsOf(store, "c", "a") ?? {}).join("")).toBe("abcdefk");
  await run(store, [set("b", 2)], [set("d", 4)]);
  expect(Object.keys(fieldsOf(store, "c", "a") ?? {}).join("")).toBe("cdkabef");
  expect(problems(storage)).toEqual([]);
});

test("a transaction caches the states of the last documents that it wrote to, and no others", async () => {
  const { storage, platform } = await openStore();
  const snapshot = storage.snapshot();
  const applier = new Applier(new Overlay(snapshot), 1, "00000000000000aa");
  const operations = Array.from({ length: 100 }, (_, i) => insert(i, { a: i, b: { c: i } }));
  const time = timeOfMs(platform.nowMs);
  const outcomes = finish(applier.step({ time, site: "00000000000000bb", operations }));
  expect(new Set(outcomes)).toEqual(new Set(["applied"]));
  expect(applier.stateCount).toBeGreaterThan(0);
  expect(applier.stateCount).toBeLessThanOrEqual(STATES_MAX + 1);
  snapshot.close();
});

test("repeated writes to documents in one transaction are right, whichever states it caches", async () => {
  const { store, storage } = await openStore();
  const ids = Array.from({ length: 3 * STATES_MAX }, (_, i) => i);
  const rounds = [1, 2, 3].map((round) => ids.map((id) => increment(id, round)));
  await run(
    store,
    ids.map((id) => insert(id, { a: id })),
    ...rounds,
    ids.filter((id) => id % 2 === 0).map((id) => remove(id)),
    ids.map((id) => insert(id, { a: 2 * id })),
    ...rounds,
  );
  const original = dump(storage);
  original.delete(IDENTITY_KEY);
  expect(await replay(storage, store.identity.site)).toEqual(original);
  expect(problems(storage)).toEqual([]);
  for (const id of ids) expect(fieldsOf(store, "c", id)).toMatchObject({ a: 2 * id });
});
