/**
 * Indexes of a store: they are what the documents say after every transaction, whatever changed them.
 */

import {
  type CreateIndexOperation,
  type DropIndexOperation,
  documentId,
  type IndexKey,
  type Operation,
  timeOfMs,
  type Value,
} from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { INDEXES_MAX } from "../../src/limits.ts";
import { deltaSince } from "../../src/store/change-log.ts";
import { entryPrefix, IDENTITY_KEY } from "../../src/store/keys.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { Store } from "../../src/store/store.ts";
import { checkIndexes, indexHistory } from "../support/index-history.ts";
import { dump, openStore, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";

function ascending(...path: string[]): IndexKey {
  return { path, isDescending: false };
}

function create(name: string, ...keys: IndexKey[]): CreateIndexOperation {
  return { kind: "create_index", collection: "c", name, keys };
}

function drop(name: string): DropIndexOperation {
  return { kind: "drop_index", collection: "c", name };
}

function insert(id: Value, fields: Record<string, Value>): Operation {
  return { kind: "insert", collection: "c", id, fields };
}

function set(id: Value, path: string[], value: Value): Operation {
  return { kind: "update", collection: "c", id, edits: [{ kind: "set", path, value }] };
}

async function run(store: Store, ...operations: Operation[]): Promise<string[]> {
  const { result } = await store.transact((transaction) =>
    operations.flatMap((operation) => transaction.apply([operation])),
  );
  return result;
}

/** What an index of `c` has: values and ids in its order. */
function entries(store: Store, name: string): (Value | undefined)[][] {
  return store.read((snapshot) => {
    const index = snapshot.index("c", name);
    if (index === undefined) throw new Error(`expected the index ${name}`);
    return [...snapshot.scanIndex(index)].map((entry) => [...(entry.values() ?? []), entry.id]);
  });
}

function entryKeys(storage: MemoryKeyValue): string[] {
  return [...dump(storage).keys()].filter((key) => key.startsWith("x"));
}

/** What stands behind the number of the index in its entries. */
function entriesOf(storage: MemoryKeyValue, number: number): string[] {
  const prefix = entryPrefix(number);
  const own = entryKeys(storage).filter((key) => key.startsWith(prefix));
  return own.map((key) => key.slice(prefix.length));
}

test("[K41] [K42] indexes match the documents after every transaction of any history", async () => {
  for (let seed = 1; seed <= histories(60); seed++) {
    const storage = new MemoryKeyValue();
    const store = await indexHistory(storage, {
      seed,
      turns: 25,
      onTurn: (view, random) => checkIndexes(view, random, `seed ${seed}`),
    });
    await store.close();
    expect(problems(storage), `seed ${seed}`).toEqual([]);
  }
});

test("[K53] [K54] an index built in pieces among any writes equals one built at once", async () => {
  let built = 0;
  for (let seed = 1; seed <= histories(80); seed++) {
    const storage = new MemoryKeyValue();
    const store = await indexHistory(storage, { seed, turns: 15, onTurn: () => {} });
    const where = `seed ${seed}`;
    const indexes = store.read((snapshot) => snapshot.indexes());
    for (const { collection, name, building } of indexes) {
      if (building === undefined) continue;
      built++;
      const piece: Operation = { kind: "build_index", collection, name, limit: 1 + (seed % 3) };
      while ((await run(store, piece))[0] === "applied") {
        expect(problems(storage), where).toEqual([]);
      }
    }
    for (const { collection, name, keys, number } of indexes) {
      expect(store.read((snapshot) => snapshot.index(collection, name)?.building)).toBeUndefined();
      await run(store, { kind: "drop_index", collection, name: "at once" });
      await run(store, { kind: "create_index", collection, name: "at once", keys });
      const whole = store.read((snapshot) => snapshot.index(collection, "at once")?.number);
      expect(entriesOf(storage, number), where).toEqual(entriesOf(storage, whole ?? 0));
    }
    for (let number = 1; number <= 40; number++) {
      const piece: Operation = { kind: "clear_index", number, limit: 1 + (seed % 3) };
      while ((await run(store, piece))[0] === "applied") {
        expect(problems(storage), where).toEqual([]);
      }
    }
    expect(store.read((snapshot) => snapshot.head.unfinished ?? 0)).toBe(0);
    expect(problems(storage), where).toEqual([]);
  }
  expect(built).toBeGreaterThan(histories(80) / 8);
});

test("[K20] [K40] replaying a log with indexes gives the same keys and values", async () => {
  for (let seed = 1; seed <= histories(150); seed++) {
    const storage = new MemoryKeyValue();
    const store = await indexHistory(storage, { seed, turns: 12, onTurn: () => {} });
    if (store.read((snapshot) => snapshot.head.floor) > 0) continue;
    const original = dump(storage);
    original.delete(IDENTITY_KEY);
    expect(await replay(storage, store.identity.site), `seed ${seed}`).toEqual(original);
  }
});

test("[K41] every document that shows has an entry, even if the value is missing", async () => {
  const { store } = await openStore();
  await run(store, insert("early", { n: 2 }), insert("none", {}));
  expect(await run(store, create("by_n", ascending("n")))).toEqual(["applied"]);
  await run(store, insert("late", { n: 1 }), insert("null", { n: null }));
  expect(entries(store, "by_n")).toEqual([
    [1, "late"],
    [2, "early"],
    [null, "null"],
    [undefined, "none"],
  ]);
  await run(store, set("none", ["n"], 0), { kind: "delete", collection: "c", id: "late" });
  expect(entries(store, "by_n")).toEqual([
    [0, "none"],
    [2, "early"],
    [null, "null"],
  ]);
});

test("[K41] nested paths and `_id` are indexed; only shown fields count", async () => {
  const { store } = await openStore();
  await run(store, create("by_p", ascending("o", "p"), ascending("_id", "k")));
  await run(
    store,
    insert({ k: 7 }, { o: { p: 1 } }),
    insert("whole", { o: "no map" }),
    insert("hidden", { o: { p: 5 } }),
    set("hidden", ["o"], "newer"),
  );
  expect(entries(store, "by_p")).toEqual([
    [1, 7, { k: 7 }],
    [undefined, undefined, "hidden"],
    [undefined, undefined, "whole"],
  ]);
});

test("[K41] EVICT, a document that returns by a merge, and the horizon leave indexes right", async () => {
  const { store, storage, platform } = await openStore();
  await run(store, create("by_n", ascending("n")), insert("a", { n: 1 }), insert("b", { n: 2 }));
  const old = store.read(
    (snapshot) => deltaSince(snapshot, store.identity.site, { collection: "c", id: "a" }, 0).state,
  );
  await run(store, { kind: "evict", collection: "c", id: "a" });
  expect(entries(store, "by_n")).toEqual([[2, "b"]]);
  await run(store, { kind: "merge", collection: "c", id: "a", state: stateToBytes(old) });
  expect(entries(store, "by_n")).toEqual([
    [1, "a"],
    [2, "b"],
  ]);
  await run(store, { kind: "delete", collection: "c", id: "b" });
  platform.nowMs += 86_400_000;
  const { txnId } = store.read((snapshot) => snapshot.head);
  await run(
    store,
    { kind: "trim", upTo: txnId },
    { kind: "horizon", time: timeOfMs(platform.nowMs) },
  );
  expect(entries(store, "by_n")).toEqual([[1, "a"]]);
  expect(problems(storage)).toEqual([]);
});

test("[K43] DROP removes every entry, and the number is not issued again", async () => {
  const { store, storage } = await openStore();
  await run(store, insert("a", { n: 1 }), create("one", ascending("n")));
  const before = store.read((snapshot) => snapshot.index("c", "one"));
  expect(await run(store, drop("one"), drop("one"))).toEqual(["applied", "missing"]);
  expect(entryKeys(storage)).toEqual([]);
  expect([...dump(storage).keys()].filter((key) => key.startsWith("i"))).toEqual([]);
  await run(store, insert("b", { n: 2 }), create("one", ascending("n")));
  const after = store.read((snapshot) => snapshot.index("c", "one"));
  expect([before?.number, after?.number]).toEqual([1, 2]);
  // Whoever still holds the old definition finds nothing under it.
  store.read((snapshot) => {
    expect(before && [...snapshot.scanIndex(before)]).toEqual([]);
  });
  expect(entryKeys(storage)).toHaveLength(2);
  expect(problems(storage)).toEqual([]);
});

test("[K43] [K53] an index is filled up to the limit of its operation, and piece by piece from there", async () => {
  const { store, storage } = await openStore({ isBuildHeld: true });
  await run(store, ...[1, 2, 3, 4, 5].map((n) => insert(n, { n: -n })));
  const build: Operation = { kind: "build_index", collection: "c", name: "ix", limit: 2 };
  expect(await run(store, build)).toEqual(["missing"]);
  expect(await run(store, { ...create("ix", ascending("n")), limit: 2 })).toEqual(["applied"]);
  const building = (): unknown => store.read((snapshot) => snapshot.index("c", "ix")?.building);
  expect(building()).toEqual({ after: documentId(2).key, done: 2 });
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(1);
  expect(entryKeys(storage)).toHaveLength(2);
  // Behind the place where it stands nothing is written, before it everything.
  await run(store, insert(0, { n: 9 }), insert(6, { n: 9 }), set(4, ["n"], 8), set(1, ["n"], 7));
  await run(store, { kind: "delete", collection: "c", id: 2 });
  expect(entryKeys(storage)).toHaveLength(2);
  expect(problems(storage)).toEqual([]);
  expect(await run(store, build)).toEqual(["applied"]);
  expect(building()).toEqual({ after: documentId(4).key, done: 4 });
  expect(await run(store, build, build)).toEqual(["applied", "unchanged"]);
  expect(building()).toBeUndefined();
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(0);
  expect(entries(store, "ix")).toEqual([
    [-5, 5],
    [-3, 3],
    [7, 1],
    [8, 4],
    [9, 0],
    [9, 6],
  ]);
  expect(problems(storage)).toEqual([]);
});

test("[K53] an index over no more documents than the first piece is complete at once", async () => {
  const { store } = await openStore({ isBuildHeld: true });
  await run(store, insert("a", { n: 1 }), insert("b", { n: 2 }));
  await run(store, { ...create("ix", ascending("n")), limit: 2 });
  expect(store.read((snapshot) => Object.keys(snapshot.index("c", "ix") ?? {}))).toEqual([
    "collection",
    "name",
    "number",
    "keys",
  ]);
  expect(entries(store, "ix")).toHaveLength(2);
});

test("[K53] no query reads from an index that is being built", async () => {
  const { store } = await openStore({ isBuildHeld: true });
  await run(store, insert("a", { n: 1 }), insert("b", { n: 2 }));
  await run(store, { ...create("ix", ascending("n")), limit: 1 });
  expect(() => entries(store, "ix")).toThrow("an index that is complete");
});

test("[K43] [K54] DROP removes entries up to the limit of its operation; the name is free at once", async () => {
  const { store, storage } = await openStore({ isBuildHeld: true });
  await run(store, ...[1, 2, 3, 4, 5].map((n) => insert(n, { n })), create("ix", ascending("n")));
  expect(await run(store, { ...drop("ix"), limit: 2 })).toEqual(["applied"]);
  expect(store.read((snapshot) => snapshot.indexes())).toEqual([]);
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(1);
  expect(entryKeys(storage)).toHaveLength(3);
  expect(problems(storage)).toEqual([]);
  await run(store, create("ix", ascending("n")), insert(6, { n: 6 }), set(5, ["n"], 0));
  expect(entries(store, "ix").map(([, id]) => id)).toEqual([5, 1, 2, 3, 4, 6]);
  expect(entriesOf(storage, 1)).toHaveLength(3);
  const clear: Operation = { kind: "clear_index", number: 1, limit: 2 };
  expect(await run(store, clear, { ...clear, number: 2 })).toEqual(["applied", "missing"]);
  expect(problems(storage)).toEqual([]);
  expect(await run(store, clear, clear)).toEqual(["applied", "missing"]);
  expect(entriesOf(storage, 1)).toEqual([]);
  expect(entries(store, "ix")).toHaveLength(6);
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(0);
  expect([...dump(storage).keys()].filter((key) => key.startsWith("y"))).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K54] an index may be dropped while it is being built, and created again under its name", async () => {
  const { store, storage } = await openStore({ isBuildHeld: true });
  await run(store, ...[1, 2, 3, 4, 5].map((n) => insert(n, { n })));
  const first = { ...create("ix", ascending("n")), limit: 3 };
  await run(store, first, { ...drop("ix"), limit: 1 }, first);
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(2);
  expect(problems(storage)).toEqual([]);
  await run(store, drop("ix"), { kind: "clear_index", number: 1, limit: 9 });
  expect(store.read((snapshot) => snapshot.head.unfinished)).toBe(0);
  expect(entryKeys(storage)).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K43] one transaction may write, create an index, write and drop it", async () => {
  const { store, storage } = await openStore();
  const outcomes = await run(
    store,
    insert("a", { n: 3 }),
    create("by_n", ascending("n")),
    set("a", ["n"], 1),
    insert("b", { n: 0 }),
    create("gone", ascending("n")),
    drop("gone"),
  );
  expect(outcomes).toEqual(Array(6).fill("applied"));
  expect(entries(store, "by_n")).toEqual([
    [0, "b"],
    [1, "a"],
  ]);
  await store.transact((transaction) => {
    transaction.apply([set("a", ["n"], -1)]);
    const index = transaction.view.index("c", "by_n");
    const ids = index && [...transaction.view.scanIndex(index)].map(({ id }) => id);
    expect(ids).toEqual(["a", "b"]);
  });
  expect(problems(storage)).toEqual([]);
});

test("[K43] a request that fails leaves no index and no entry", async () => {
  const { store, storage } = await openStore();
  await run(store, insert("a", { n: 1 }));
  const failing = store.transact((transaction) => {
    transaction.apply([create("by_n", ascending("n"))]);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await run(store, insert("b", { n: 2 }));
  expect(entryKeys(storage)).toEqual([]);
  expect(store.read((snapshot) => snapshot.indexes())).toEqual([]);
});

test("[K43] an index whose flush failed does not exist for later requests", async () => {
  const { store, storage, disk } = await openStore();
  await run(store, insert("a", { n: 1 }));
  disk.failNextWrite("store.full");
  const failing = run(store, create("by_n", ascending("n")));
  await Promise.resolve();
  const behind = run(store, insert("b", { n: 2 }));
  await expect(failing).rejects.toMatchObject({ code: "store.full" });
  await behind.catch(() => undefined);
  await run(store, insert("c", { n: 3 }));
  expect(entryKeys(storage)).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K40] a name is used once in each collection; creating it again changes nothing", async () => {
  const { store } = await openStore();
  await run(store, create("ix", ascending("n")));
  expect(await run(store, create("ix", ascending("other")))).toEqual(["unchanged"]);
  const elsewhere: Operation = {
    kind: "create_index",
    collection: "d",
    name: "ix",
    keys: [{ path: ["other"], isDescending: true }],
  };
  expect(await run(store, elsewhere, create("IX", ascending("n")))).toEqual(["applied", "applied"]);
  store.read((snapshot) => {
    expect(snapshot.indexes().map(({ collection, name }) => [collection, name])).toEqual([
      ["c", "IX"],
      ["c", "ix"],
      ["d", "ix"],
    ]);
    expect(snapshot.index("d", "ix")).toEqual({
      collection: "d",
      name: "ix",
      number: 2,
      keys: [{ path: ["other"], isDescending: true }],
    });
    expect(snapshot.index("d", "IX")).toBeUndefined();
    expect(snapshot.index("nowhere", "ix")).toBeUndefined();
  });
});

test("[K3] [K40] collections and indexes may have any name", async () => {
  const { store, storage } = await openStore();
  const names = ["a", "a.b", "a\0", "a\0b", "é", "a\0\u00ff"];
  const all = names.flatMap((collection) =>
    names.map(
      (name): Operation => ({ kind: "create_index", collection, name, keys: [ascending("n")] }),
    ),
  );
  expect(await run(store, ...all)).toEqual(all.map(() => "applied"));
  expect(store.read((snapshot) => snapshot.indexes())).toHaveLength(36);
  expect(store.read((snapshot) => snapshot.index("a\0", "b"))).toBeUndefined();
  expect(problems(storage)).toEqual([]);
});

test("[K43] a collection is known once it has an index", async () => {
  const { store, storage } = await openStore();
  expect(await run(store, drop("ix"))).toEqual(["missing"]);
  expect(store.read((snapshot) => snapshot.collections())).toEqual([]);
  await run(store, create("ix", ascending("n")));
  store.read((snapshot) => {
    expect(snapshot.collections()).toEqual(["c"]);
    expect(snapshot.count("c")).toBe(0);
  });
  expect(problems(storage)).toEqual([]);
});

test("[K40] the head of a store that never had an index does not mention indexes", async () => {
  const { store } = await openStore();
  await run(store, insert("a", { n: 1 }));
  expect(store.read((snapshot) => Object.keys(snapshot.head))).not.toContain("indexes");
});

test("[K20] the log has the definition of an index, not its entries", async () => {
  const { store } = await openStore();
  await run(store, insert("a", { n: 1 }));
  const operation = create("ix", ascending("n"));
  await run(store, operation);
  store.read((snapshot) => {
    const since = snapshot.changesSince({ historyId: store.identity.historyId, txnId: 1 });
    const [logged] = since.kind === "changes" ? [...since.transactions] : [];
    expect(logged?.record.steps[0]?.operations).toEqual([operation]);
    expect(logged?.record.changes).toEqual([]);
  });
});

test("the number of indexes of a collection is limited", async () => {
  const { store } = await openStore();
  const many = Array.from({ length: INDEXES_MAX }, (_, i) => create(`ix${i}`, ascending("n")));
  await run(store, ...many);
  await expect(run(store, create("more", ascending("n")))).rejects.toMatchObject({
    code: "operation.refused",
  });
  await run(store, drop("ix0"), create("more", ascending("n")));
  expect(store.read((snapshot) => snapshot.indexes("c"))).toHaveLength(INDEXES_MAX);
  const batch = store.transact((transaction) => {
    transaction.apply([drop("ix1")]);
    transaction.apply([create("x", ascending("n")), create("y", ascending("n"))]);
  });
  await expect(batch).rejects.toMatchObject({ code: "operation.refused" });
});

test("[K41] an update that does not change the indexed values does not write the entry", async () => {
  const { store, storage } = await openStore();
  await run(store, create("ix", ascending("n")), insert("a", { n: 1, other: 1 }));
  const before = entryKeys(storage);
  await run(store, set("a", ["other"], 2));
  expect(entryKeys(storage)).toEqual(before);
  expect(before).toHaveLength(1);
});
