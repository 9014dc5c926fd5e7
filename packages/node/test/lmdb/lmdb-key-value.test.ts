import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Key, Snapshot } from "@bigpeer/engine";
import { type Value } from "@bigpeer/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { findDifference } from "../../../engine/test/contract/any-value.ts";
import { keyValueContract } from "../../../engine/test/contract/key-value-contract.ts";
import { codeOf } from "../../../protocol/test/support/failure.ts";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { type LmdbKeyValue, type LmdbOptions, openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import { readMetaOf } from "../support/lmdb-meta.ts";
import { bundleScript, RunningScript } from "../support/script.ts";

const ALL = { from: "\0", to: "\xff" };

keyValueContract("lmdb", () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-lmdb-"));
  return { open: () => openLmdb(folder), remove: () => rmSync(folder, { recursive: true }) };
});

const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-lmdb-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

function openStorage(folder: string, options?: LmdbOptions): LmdbKeyValue {
  const storage = openLmdb(folder, options);
  cleanups.push(() => storage.close());
  return storage;
}

function read<T>(storage: LmdbKeyValue, body: (snapshot: Snapshot) => T): T {
  const snapshot = storage.snapshot();
  try {
    return body(snapshot);
  } finally {
    snapshot.close();
  }
}

function fill(count: number, size: number): Map<Key, Value> {
  const text = "x".repeat(size);
  return new Map(Array.from({ length: count }, (_, i) => [`key ${i}`, { number: i, text }]));
}

function readAll(snapshot: Snapshot): Map<Key, Value> {
  return new Map(Array.from(snapshot.entries(ALL), ({ key, value }) => [key, value]));
}

test("a storage is a folder with a data file and a lock file, created with its parents", async () => {
  const folder = join(newFolder(), "a", "b.c", "d");
  const storage = openStorage(folder);
  await storage.commit(new Map([["a", 1]]));
  expect(readdirSync(folder)).toEqual(["data.mdb", "lock.mdb"]);
});

test("a folder is open for writing once at a time in a process", async () => {
  const folder = newFolder();
  const first = openStorage(folder);
  expect(codeOf(() => openLmdb(folder))).toBe("store.in_use");
  expect(codeOf(() => openLmdb(join(folder, ".")))).toBe("store.in_use");
  await first.close();
  await openLmdb(folder).close();
});

test("a foreign file is refused and left unchanged", async () => {
  for (const [text, code] of [
    ["", "store.corrupt"],
    ["notes about cars\n".repeat(1000), "store.foreign"],
  ] as const) {
    const folder = newFolder();
    const file = join(folder, "data.mdb");
    writeFileSync(file, text);
    expect(codeOf(() => openLmdb(folder))).toBe(code);
    expect(statSync(file).size).toBe(text.length);
    expect(codeOf(() => openLmdb(folder))).toBe(code);
  }
});

test("the LMDB file of another program is refused and left unchanged", async () => {
  const folder = newFolder();
  const file = join(folder, "data.mdb");
  await openLmdb(folder).close();
  // Our file, but for the names of its trees.
  const bytes = readFileSync(file, "latin1").replaceAll("bigpeer.", "foreign.");
  writeFileSync(file, bytes, "latin1");
  expect(codeOf(() => openLmdb(folder))).toBe("store.foreign");
  expect(codeOf(() => openLmdb(folder, { readOnly: true }))).toBe("store.foreign");
  expect(readFileSync(file, "latin1")).toBe(bytes);
});

test("a storage that was killed between creating its two trees is completed when it is opened", async () => {
  const folder = newFolder();
  const file = join(folder, "data.mdb");
  await openLmdb(folder).close();
  // Back to the state after the first tree: the newer of the two meta pages counts no more.
  const bytes = readFileSync(file);
  const [idPlace, pageSize] = [152, bytes.readUInt32LE(48)];
  const isFirstNewer = bytes.readBigUInt64LE(idPlace) > bytes.readBigUInt64LE(pageSize + idPlace);
  bytes.writeBigUInt64LE(0n, isFirstNewer ? idPlace : pageSize + idPlace);
  writeFileSync(file, bytes);
  expect(codeOf(() => openLmdb(folder, { readOnly: true }))).toBe("store.foreign");
  const storage = openStorage(folder);
  await storage.commit(new Map([["a", { n: 1 }]]));
  await storage.close();
  const again = openStorage(folder);
  const snapshot = again.snapshot();
  expect(snapshot.get("a")).toEqual({ n: 1 });
  snapshot.close();
});

test("a folder that is absent or empty cannot be opened for reading", () => {
  const folder = newFolder();
  expect(codeOf(() => openLmdb(folder, { readOnly: true }))).toBe("store.foreign");
  expect(codeOf(() => openLmdb(join(folder, "none"), { readOnly: true }))).toBe("store.foreign");
  expect(readdirSync(folder)).toEqual([]);
});

test("an obstacle in place of the lock file is an error, not the end of the process", () => {
  const folder = newFolder();
  mkdirSync(join(folder, "lock.mdb"));
  expect(codeOf(() => openLmdb(folder))).toBe("store.foreign");
});

test("a truncated file is refused", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  await storage.commit(fill(2000, 100));
  await storage.close();
  const file = join(folder, "data.mdb");
  const { lastPage, pageSize } = readMetaOf(file);
  truncateSync(file, Math.floor(lastPage / 2) * pageSize);
  expect(codeOf(() => openLmdb(folder))).toBe("store.corrupt");
});

test("thousands of snapshots of one state share one read transaction", async () => {
  const storage = openStorage(newFolder());
  await storage.commit(new Map([["a", 1]]));
  const held = Array.from({ length: 5000 }, () => storage.snapshot());
  expect(held.every((snapshot) => snapshot.get("a") === 1)).toBe(true);
  for (const snapshot of held) snapshot.close();
});

test("a snapshot held too long expires, and the space that it kept is reused", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const folder = newFolder();
  const storage = openStorage(folder, { snapshotLifeMs: 1000 });
  await storage.commit(fill(500, 500));
  const held = storage.snapshot();
  const walk = held.entries(ALL)[Symbol.iterator]();
  walk.next();
  const growth = async (): Promise<number> => {
    const before = readMetaOf(join(folder, "data.mdb")).lastPage;
    for (let i = 0; i < 10; i++) await storage.commit(fill(500, 500));
    return readMetaOf(join(folder, "data.mdb")).lastPage - before;
  };
  const growthWhileHeld = await growth();
  expect(growthWhileHeld).toBeGreaterThan(300);
  vi.advanceTimersByTime(999);
  expect(held.get("key 1")).toBeDefined();
  vi.advanceTimersByTime(1);
  expect(codeOf(() => held.get("key 1"))).toBe("store.snapshot_expired");
  expect(codeOf(() => walk.next())).toBe("store.snapshot_expired");
  await growth();
  expect(await growth()).toBeLessThan(10);
  expect(read(storage, (snapshot) => [...snapshot.keys(ALL)])).toHaveLength(500);
});

test.runIf(isFullSize)(
  "values of more than 16 MB, which lmdb returns from its memory map, are read back exactly",
  async () => {
    const folder = newFolder();
    const bytes = new Uint8Array(17_000_000).fill(7);
    const value = { bytes, list: [1, "two", { three: -0 }] };
    for (let round = 0; round < sized(1, 2); round++) {
      const storage = openLmdb(folder);
      await storage.commit(new Map([["large", value]]));
      const found = read(storage, (snapshot) => snapshot.get("large"));
      await storage.close();
      expect(findDifference(found, value)).toBeUndefined();
    }
  },
);

test("the used bytes follow the stored data, not the size of the file", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  const empty = storage.usedBytes();
  await storage.commit(fill(1000, 1000));
  const full = storage.usedBytes();
  expect(full - empty).toBeGreaterThan(1_000_000);
  expect(full).toBeLessThan(2_000_000);
  await storage.commit(new Map([...fill(1000, 0).keys()].map((key) => [key, undefined])));
  expect(storage.usedBytes()).toBeLessThan(full / 10);
  expect(statSync(join(folder, "data.mdb")).size).toBeGreaterThan(full);
});

test("the space for a commit is always reserved before it", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  const file = join(folder, "data.mdb");
  const commits: Map<Key, Value | undefined>[] = [
    fill(1, 10),
    fill(3000, 50),
    fill(3000, 900),
    fill(300, 9000),
    new Map([["large", new Uint8Array(3_000_000)]]),
    new Map([...fill(3000, 0).keys()].map((key) => [key, undefined])),
    new Map(Array.from({ length: 500 }, (_, i) => [`${i}`.padEnd(1900, "long"), i])),
    new Map(Array.from({ length: 4000 }, (_, i) => [`${(i * 7919) % 4001}`, [i]])),
  ];
  for (const writes of commits) {
    await storage.commit(writes);
    // Had the commit needed more than was taken, the file would end with its last page.
    const { lastPage, pageSize } = readMetaOf(file);
    expect(statSync(file).size).toBeGreaterThan((lastPage + 1) * pageSize);
  }
});

test("a copy is complete and consistent while commits continue", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  const ROUNDS = sized(20, 60);
  const copied = sized([10], [10, 30, 50]);
  const copies: Promise<void>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await storage.commit(
      new Map(
        Array.from({ length: 300 }, (_, i) => [`key ${i}`, { round, text: "x".repeat(round * 9) }]),
      ),
    );
    if (copied.includes(round)) copies.push(storage.copyTo(join(folder, "copies", String(round))));
  }
  await Promise.all(copies);
  for (const round of copied) {
    const copy = join(folder, "copies", String(round));
    expect(readdirSync(copy)).toEqual(["data.mdb"]);
    const opened = openStorage(copy);
    const rounds = read(opened, (snapshot) =>
      Array.from(snapshot.entries(ALL), ({ value }) => (value as { round: number }).round),
    );
    expect(rounds).toHaveLength(300);
    expect(new Set(rounds).size).toBe(1);
    expect(rounds[0]).toBeGreaterThanOrEqual(round);
    await opened.commit(new Map([["a", 1]]));
  }
});

test("a folder that has a storage is not a valid target for a copy", async () => {
  const folder = newFolder();
  const storage = openStorage(join(folder, "a"));
  const other = openStorage(join(folder, "b"));
  await other.commit(new Map([["b", 1]]));
  const copying = storage.copyTo(join(folder, "b"));
  await expect(copying).rejects.toMatchObject({ code: "store.not_empty" });
  expect(read(other, (snapshot) => snapshot.get("b"))).toBe(1);
});

test("close waits for a copy under way", async () => {
  const folder = newFolder();
  const storage = openStorage(join(folder, "a"));
  await storage.commit(fill(sized(1000, 5000), 500));
  const copying = storage.copyTo(join(folder, "b"));
  await storage.close();
  await copying;
  expect(read(openStorage(join(folder, "b")), (snapshot) => [...snapshot.keys(ALL)])).toHaveLength(
    sized(1000, 5000),
  );
});

test("shapes learned in one session of the storage are known in the next", async () => {
  const folder = newFolder();
  const shapeOf = (i: number): Value => ({ [`a${i % 100}`]: i, [`b${i % 100}`]: "text" });
  for (let life = 0; life < 4; life++) {
    const storage = openLmdb(folder);
    for (let i = 0; i < 1000; i += 250) {
      const entries = Array.from({ length: 250 }, (_, j): [Key, Value] => [
        `${life} ${i + j}`,
        shapeOf(i + j),
      ]);
      await storage.commit(new Map(entries));
    }
    await storage.close();
  }
  const storage = openStorage(folder, { readOnly: true });
  read(storage, (snapshot) => {
    for (const { key, value } of snapshot.entries(ALL)) {
      expect(findDifference(value, shapeOf(Number(key.split(" ")[1])))).toBeUndefined();
    }
  });
  // A record of 100 shapes is stored without its keys: less than its length as JSON.
  expect(storage.usedBytes()).toBeLessThan(4000 * 60);
});

test("a copied folder opens, also while its original is open", async () => {
  const folder = newFolder();
  const storage = openStorage(join(folder, "a"));
  await storage.commit(new Map([["a", 1]]));
  cpSync(join(folder, "a", "data.mdb"), join(folder, "b", "data.mdb"));
  expect(read(openStorage(join(folder, "b")), (snapshot) => snapshot.get("a"))).toBe(1);
});

test("a file may grow past its mapping, also while a snapshot is held", async () => {
  const folder = newFolder();
  const mapSize = 1024 * 1024;
  const storage = openStorage(folder, { mapSize });
  await storage.commit(new Map([["key 0", "before"]]));
  const held = storage.snapshot();
  const content = fill(500, 10_000);
  const entries = [...content];
  // Several commits, each of which fits into the mapping alone.
  for (let i = 0; i < entries.length; i += 50) {
    await storage.commit(new Map(entries.slice(i, i + 50)));
  }
  expect(statSync(join(folder, "data.mdb")).size).toBeGreaterThan(4 * mapSize);
  expect([held.get("key 0"), held.get("key 1")]).toEqual(["before", undefined]);
  held.close();
  expect(read(storage, (snapshot) => readAll(snapshot))).toEqual(content);
  await storage.close();
  const again = openStorage(folder, { mapSize });
  expect(read(again, (snapshot) => readAll(snapshot))).toEqual(content);
});

test("another process reads and copies while this one writes", async () => {
  const folder = newFolder();
  const home = join(folder, "storage");
  const storage = openStorage(home);
  const documentsOf = (round: number): Map<Key, Value> => {
    const text = "x".repeat(50);
    return new Map(
      Array.from({ length: 30 }, (_, i) => [
        `${round}/${i}`,
        { [`round ${round}`]: i, size: 50, text, [`end ${round}`]: { round } },
      ]),
    );
  };
  const script = await bundleScript("node/test/support/storage-process");
  cleanups.push(() => script.remove());
  await storage.commit(documentsOf(1));
  const reader = new RunningScript(process.execPath, script.path, home, "read-only");
  cleanups.push(() => reader.kill());
  const expected: Record<string, number> = { 1: 30 };
  expect(await reader.ask("keys")).toEqual(expected);
  // Each round brings a shape that the other process does not know yet.
  for (let round = 2; round < 8; round++) {
    await storage.commit(documentsOf(round));
    expected[round] = 30;
    expect(await reader.ask("keys")).toEqual(expected);
    expect(await reader.ask("wrong")).toEqual([]);
  }
  expect(await reader.ask(`copy ${join(folder, "copy")}`)).toBe("ok");
  expect(await reader.end()).toBe(0);
  const copy = openStorage(join(folder, "copy"));
  expect(read(copy, (snapshot) => [...snapshot.keys(ALL)])).toHaveLength(210);
  await storage.commit(documentsOf(9));
  expect(read(storage, (snapshot) => [...snapshot.keys(ALL)])).toHaveLength(240);
});
