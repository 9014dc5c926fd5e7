/**
 * Indexes that the store builds by itself: in small transactions beside those of others, through
 * restarts, crashes and failed commits.
 */

import type { CreateIndexOperation, IndexKey, Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { sized } from "../../../protocol/test/support/test-size.ts";
import type { KeyValue, Snapshot, Writes } from "../../src/platform.ts";
import { renewIdentity } from "../../src/store/identity.ts";
import { entryPrefix, IDENTITY_KEY, transactionRange } from "../../src/store/keys.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import type { TransactionRecord } from "../../src/store/records.ts";
import { Store } from "../../src/store/store.ts";
import { dump, openStore, problems } from "../support/open-store.ts";
import { replay } from "../support/replay.ts";
import { seededRandom, type TestPlatform, testPlatform } from "../support/test-platform.ts";

const BY_N: readonly IndexKey[] = [{ path: ["n"], isDescending: false }];

function create(name: string, limit: number, keys = BY_N): CreateIndexOperation {
  return { kind: "create_index", collection: "c", name, keys, limit };
}

function drop(name: string, limit: number): Operation {
  return { kind: "drop_index", collection: "c", name, limit };
}

function insert(id: number): Operation {
  return { kind: "insert", collection: "c", id, fields: { n: (id * 7919) % 1000 } };
}

async function run(store: Store, ...operations: Operation[]): Promise<void> {
  await store.transact((transaction) => {
    for (const operation of operations) transaction.apply([operation]);
  });
}

async function fill(store: Store, count: number): Promise<void> {
  const operations = Array.from({ length: count }, (_, id) => insert(id));
  await store.transact((transaction) => transaction.apply(operations));
}

function isBuilding(store: Store, name: string): boolean {
  return store.read((snapshot) => snapshot.index("c", name)?.building !== undefined);
}

/** The documents of an index, in its order. */
function idsOf(store: Store, name: string): Value[] {
  return store.read((snapshot) => {
    const index = snapshot.index("c", name);
    if (index === undefined) throw new Error(`expected the index ${name}`);
    return [...snapshot.scanIndex(index)].map(({ id }) => id);
  });
}

/** An index of the same keys, made in one transaction, has the same documents in the same order. */
async function expectWhole(store: Store, ...names: string[]): Promise<void> {
  for (const name of names) {
    const keys = store.read((snapshot) => snapshot.index("c", name)?.keys) ?? [];
    await run(store, { kind: "create_index", collection: "c", name: "whole", keys });
    expect(idsOf(store, name), name).toEqual(idsOf(store, "whole"));
    await run(store, { kind: "drop_index", collection: "c", name: "whole" });
  }
}

/** The operations in the log that the builder made, by transaction. */
function piecesOf(storage: KeyValue): Operation[][] {
  const snapshot = storage.snapshot();
  const all = snapshot.entries(transactionRange(0, Number.MAX_SAFE_INTEGER - 1));
  const records = Array.from(all, ({ value }) => value as unknown as TransactionRecord);
  snapshot.close();
  const isPiece = ({ kind }: Operation): boolean =>
    kind === "build_index" || kind === "clear_index";
  return records
    .map(({ steps }) => steps.flatMap(({ operations }) => operations.filter(isPiece)))
    .filter((pieces) => pieces.length > 0);
}

function limitsOf(storage: KeyValue): number[] {
  return piecesOf(storage).map(([piece]) => (piece as { readonly limit: number }).limit);
}

/** Everything takes long by its clock, so that pieces are as small as they come. */
function crawlingPlatform(): TestPlatform {
  let elapsedMs = 0;
  return Object.assign(testPlatform(), { elapsed: (): number => (elapsedMs += 100) });
}

/** Waits until a turn of the builder has brought this about. */
async function until(isSo: () => boolean): Promise<void> {
  const platform = testPlatform();
  for (let turn = 0; !isSo(); turn++) {
    if (turn > 10_000) throw new Error("expected it to happen");
    await platform.pause();
  }
}

test("[K53] [K55] the missing part of an index is built in the background, in bounded transactions", async () => {
  const { store, storage } = await openStore();
  const count = sized(4_500, 7_000);
  await fill(store, count);
  await run(store, create("ix", 10));
  expect(isBuilding(store, "ix")).toBe(true);
  await store.whenIndexesReady();
  expect(isBuilding(store, "ix")).toBe(false);
  expect(idsOf(store, "ix")).toHaveLength(count);
  const pieces = piecesOf(storage);
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces) {
    expect(piece).toEqual([
      { kind: "build_index", collection: "c", name: "ix", limit: expect.any(Number) },
    ]);
    expect((piece[0] as { readonly limit: number }).limit).toBeLessThanOrEqual(4_000);
  }
  await expectWhole(store, "ix");
  await store.whenIndexesReady();
  expect(problems(storage)).toEqual([]);
});

test("[K54] [K55] the remaining entries of a dropped index are removed in the background", async () => {
  const { store, storage } = await openStore();
  await fill(store, sized(1_200, 3_000));
  await run(store, { kind: "create_index", collection: "c", name: "ix", keys: BY_N });
  await run(store, drop("ix", 10));
  expect(store.read((snapshot) => snapshot.index("c", "ix"))).toBeUndefined();
  expect(problems(storage)).toEqual([]);
  await store.whenIndexesReady();
  expect([...dump(storage).keys()].filter((key) => /^[xy]/.test(key))).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K55] requests run between the pieces, and see a consistent index", async () => {
  const { store, storage, platform } = await openStore({}, crawlingPlatform());
  const random = seededRandom(5);
  await fill(store, sized(300, 1_500));
  await run(store, create("ix", 10));
  let during = 0;
  for (let i = 0; isBuilding(store, "ix"); i++) {
    const id = random.below(2_000);
    const edits = [{ kind: "set", path: ["n"], value: -i }] as const;
    await run(store, insert(id), { kind: "update", collection: "c", id, edits });
    await run(store, { kind: "delete", collection: "c", id: random.below(2_000) });
    if (isBuilding(store, "ix")) during++;
    if (i % sized(24, 8) === 0) expect(problems(storage)).toEqual([]);
    await platform.pause();
  }
  expect(during).toBeGreaterThan(0);
  await store.whenIndexesReady();
  await expectWhole(store, "ix");
  expect(problems(storage)).toEqual([]);
});

test("[K55] several indexes are built one after the other", async () => {
  const { store, storage } = await openStore();
  await fill(store, sized(400, 4_000));
  const descending = [{ path: ["n"], isDescending: true }];
  await run(store, create("one", 1), create("two", 1, descending), create("three", 5));
  await run(store, create("gone", 1), drop("gone", 1));
  await store.whenIndexesReady();
  await expectWhole(store, "one", "two", "three");
  await store.whenIndexesReady();
  const names = piecesOf(storage).map(([piece]) => (piece as { readonly name?: string }).name);
  const changes = names.filter((name, i) => name !== names[i - 1]);
  expect(changes).toEqual(["one", "three", "two"]);
  expect(problems(storage)).toEqual([]);
});

test("[K20] [K55] replaying the log of a build gives the same keys and values", async () => {
  const { store, storage } = await openStore();
  const count = sized(400, 4_000);
  await fill(store, count);
  await run(store, create("ix", 100), create("other", 7));
  const writes = Promise.all([1, count + 1_000, count - 1].map((id) => run(store, insert(id))));
  await store.whenIndexesReady();
  await run(store, drop("other", 3));
  await Promise.all([writes, store.whenIndexesReady()]);
  const original = dump(storage);
  original.delete(IDENTITY_KEY);
  expect(await replay(storage, store.identity.site)).toEqual(original);
});

test("[K55] a crash at any point of a build leaves a valid store, which continues the build", async () => {
  for (let seed = 1; seed <= sized(2, 12); seed++) {
    const random = seededRandom(seed);
    let opened = await openStore({}, crawlingPlatform());
    const count = sized(250, 1_500);
    await fill(opened.store, count);
    await run(opened.store, create("ix", 10), create("old", count));
    await run(opened.store, drop("old", 10));
    for (let life = 0; life < 4; life++) {
      const { disk, platform, store } = opened;
      disk.holdSyncs();
      for (let turn = random.below(12); turn > 0; turn--) {
        void run(store, insert(random.below(2_000))).catch(() => undefined);
        await platform.pause();
        if (random.chance(0.6)) disk.syncNext();
      }
      disk.crash({ unsynced: random.chance(0.5) ? "kept" : "lost" });
      disk.releaseSyncs();
      opened = await openStore({}, platform, disk);
      expect(problems(opened.storage), `seed ${seed}, life ${life}`).toEqual([]);
    }
    await opened.store.whenIndexesReady();
    await expectWhole(opened.store, "ix");
    expect(problems(opened.storage), `seed ${seed}`).toEqual([]);
  }
});

test("[K55] close ends a build soon, and opening the store continues it", async () => {
  const { store, storage, disk, platform } = await openStore({}, crawlingPlatform());
  await fill(store, 3_000);
  await run(store, create("ix", 10));
  const ready = store.whenIndexesReady().catch((error: unknown) => error);
  await store.close();
  expect(await ready).toMatchObject({ code: "store.closed" });
  await expect(store.whenIndexesReady()).rejects.toMatchObject({ code: "store.closed" });
  const before = piecesOf(storage).length;
  expect(before).toBeLessThan(8);
  expect(isBuilding(store, "ix")).toBe(true);
  expect(problems(storage)).toEqual([]);
  const again = await openStore({}, platform, disk);
  await again.store.whenIndexesReady();
  expect(idsOf(again.store, "ix")).toHaveLength(3_000);
  expect(piecesOf(storage).length).toBeGreaterThan(before);
});

test("[K26] [K55] a copy of a store continues a build under way", async () => {
  const { store, disk, platform } = await openStore({ isBuildHeld: true });
  await fill(store, 3_000);
  await run(store, create("ix", 10), create("old", 3_000));
  await run(store, drop("old", 10));
  await store.close();
  await renewIdentity(new MemoryKeyValue(disk), platform);
  const copy = await openStore({}, platform, disk);
  await copy.store.whenIndexesReady();
  await expectWhole(copy.store, "ix");
  expect(problems(copy.storage)).toEqual([]);
});

test("[K55] an index may be dropped or created again while it is built", async () => {
  const { store, storage, platform } = await openStore();
  await fill(store, sized(1_500, 8_000));
  for (let round = 0; round < sized(2, 6); round++) {
    await run(store, create("ix", 10));
    for (let turn = 0; turn < round; turn++) await platform.pause();
    await run(store, drop("ix", 5));
    if (round % 2 === 0) continue;
    await run(store, create("ix", 20));
    await store.whenIndexesReady();
    await expectWhole(store, "ix");
    await run(store, drop("ix", 5));
  }
  await store.whenIndexesReady();
  expect([...dump(storage).keys()].filter((key) => /^[ixy]/.test(key))).toEqual([]);
  expect(problems(storage)).toEqual([]);
});

test("[K55] a commit that fails once does not end a build", async () => {
  const { store, storage, disk } = await openStore({}, crawlingPlatform());
  await fill(store, 2_000);
  await run(store, create("ix", 10));
  disk.failNextWrite("store.write_failed");
  await store.whenIndexesReady();
  await expectWhole(store, "ix");
  expect(problems(storage)).toEqual([]);
});

/** A storage that refuses what it is told to refuse. */
class RefusingStorage implements KeyValue {
  readonly #storage: MemoryKeyValue;
  isRefusing: (writes: Writes) => boolean = () => false;
  refused = 0;

  constructor(storage: MemoryKeyValue) {
    this.#storage = storage;
  }

  snapshot(): Snapshot {
    return this.#storage.snapshot();
  }

  commit(writes: Writes): Promise<void> {
    if (!this.isRefusing(writes)) return this.#storage.commit(writes);
    this.refused++;
    return Promise.reject(new Error("no room"));
  }

  close(): Promise<void> {
    return this.#storage.close();
  }
}

/** Commits with entries of indexes are refused. Its clock stands still until it is moved. */
async function openRefusing(): Promise<{
  readonly store: Store;
  readonly storage: RefusingStorage;
  readonly memory: MemoryKeyValue;
  readonly clock: { ms: number };
}> {
  const clock = { ms: 0 };
  const platform = { ...testPlatform(), elapsed: (): number => clock.ms };
  const memory = new MemoryKeyValue(new MemoryDisk());
  const storage = new RefusingStorage(memory);
  const store = await Store.open(storage, platform);
  await fill(store, 5_000);
  await run(store, create("ix", 10));
  storage.isRefusing = (writes) => [...writes.keys()].some((key) => key.startsWith(entryPrefix(1)));
  await until(() => storage.refused > 0 && store.stats().queueLength === 0);
  return { store, storage, memory, clock };
}

test("[K55] a failed build rests, and tries again later after a commit of another request", async () => {
  const { store, storage, memory, clock } = await openRefusing();
  const { refused } = storage;
  expect(refused).toBeLessThan(6);
  // Behind the place where the index stands, so that it is no matter of the index.
  for (let id = 10_000; id < 10_020; id++) await run(store, insert(id));
  expect(storage.refused).toBe(refused);
  storage.isRefusing = () => false;
  await run(store, insert(10_020));
  expect(isBuilding(store, "ix")).toBe(true);
  clock.ms += 60_000;
  await run(store, insert(10_021));
  await store.whenIndexesReady();
  await expectWhole(store, "ix");
  expect(problems(memory)).toEqual([]);
});

test("[K55] maintenance continues a failed build, and waits for it or reports why it fails", async () => {
  const { store, storage, memory } = await openRefusing();
  await expect(store.maintain()).rejects.toThrow("no room");
  expect(isBuilding(store, "ix")).toBe(true);
  storage.isRefusing = () => false;
  await store.maintain();
  expect(isBuilding(store, "ix")).toBe(false);
  await expectWhole(store, "ix");
  expect(problems(memory)).toEqual([]);
});

test("[K55] pieces are smaller if documents take long", async () => {
  const { store, storage } = await openRefusing();
  storage.isRefusing = () => false;
  await store.maintain();
  // The clock stands still, so that they grow to the largest.
  expect(Math.max(...limitsOf(storage))).toBe(4_000);
  const crawling = await openStore({}, crawlingPlatform());
  await fill(crawling.store, 3_000);
  await run(crawling.store, create("ix", 10));
  await crawling.store.whenIndexesReady();
  expect(Math.min(...limitsOf(crawling.storage))).toBe(16);
  await expectWhole(crawling.store, "ix");
});
