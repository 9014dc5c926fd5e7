import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Key, Snapshot } from "@bigpeer/engine";
import { PeerError, type Value } from "@bigpeer/protocol";
import { afterEach, expect, test } from "vitest";
import { findDifference } from "../../../engine/test/contract/any-value.ts";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { encodedAs } from "../../src/lmdb/encoded-write.ts";
import { LargeCommits } from "../../src/lmdb/large-commit.ts";
import { type LmdbKeyValue, openLmdb } from "../../src/lmdb/lmdb-key-value.ts";
import type { SliceClock } from "../../src/slices.ts";

const MANY = 20_000;

const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Each look at the clock is a slice later, so that whoever looks pauses. */
class CountingClock implements SliceClock {
  pauses = 0;
  onPause: () => void = () => undefined;
  #nowMs = 0;

  elapsed(): number {
    this.#nowMs += 10;
    return this.#nowMs;
  }

  pause(): Promise<void> {
    this.pauses++;
    this.onPause();
    return Promise.resolve();
  }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-large-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

function openStorage(folder: string, clock?: SliceClock): LmdbKeyValue {
  const storage = openLmdb(folder, clock === undefined ? {} : { clock });
  cleanups.push(() => storage.close());
  return storage;
}

function valueOf(i: number): Value {
  return { number: i, text: `text ${i}`, binary: new Uint8Array([i & 255]) };
}

function many(count: number): Map<Key, Value | undefined> {
  return new Map(Array.from({ length: count }, (_, i) => [`key \xff ${i}`, valueOf(i)]));
}

function countOf(snapshot: Snapshot): number {
  return Array.from(snapshot.keys({ from: "\0", to: "\xff" })).length;
}

/** A map that counts how many entries are read of it between two pauses. */
class CountedWrites extends Map<Key, Value | undefined> {
  since = 0;
  most = 0;

  override *[Symbol.iterator](): MapIterator<[Key, Value | undefined]> {
    for (const entry of super.entries()) {
      this.most = Math.max(this.most, ++this.since);
      yield entry;
    }
  }
}

test("[K32] a commit of many entries is atomic: none of it shows before, all of it after", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  await storage.commit(new Map([["gone", 1]]));
  const writes = many(MANY).set("gone", undefined);
  const before = storage.snapshot();
  const committed = storage.commit(writes);
  const meanwhile = storage.snapshot();
  await committed;
  expect([countOf(before), countOf(meanwhile)]).toEqual([1, 1]);
  const after = storage.snapshot();
  expect(countOf(after)).toBe(MANY);
  for (const [key, value] of many(MANY)) {
    expect(findDifference(value as Value, after.get(key) as Value)).toBeUndefined();
  }
  for (const snapshot of [before, meanwhile, after]) snapshot.close();
});

test.runIf(isFullSize)(
  "small commits continue after a large one, and everything is there after reopening",
  async () => {
    const folder = newFolder();
    const storage = openStorage(folder);
    await storage.commit(many(MANY));
    await storage.commit(new Map([["small", valueOf(7)]]));
    await storage.commit(many(MANY).set("key \xff 3", undefined));
    await storage.close();
    const again = openStorage(folder);
    const snapshot = again.snapshot();
    expect(countOf(snapshot)).toBe(MANY);
    // The names of the fields are in the other tree, which the thread has written too.
    expect(snapshot.get("small")).toEqual(valueOf(7));
    expect(snapshot.get("key \xff 3")).toBeUndefined();
    snapshot.close();
  },
);

test("[K32] many entries are encoded a few at a time, with pauses between", async () => {
  const clock = new CountingClock();
  const storage = openStorage(newFolder(), clock);
  const writes = new CountedWrites(many(MANY));
  clock.onPause = () => {
    writes.since = 0;
  };
  await storage.commit(writes);
  expect(writes.most).toBeGreaterThan(0);
  expect(writes.most).toBeLessThanOrEqual(64);
});

test("[K32] one large value is encoded a few fields at a time, and is read back unchanged", async () => {
  const clock = new CountingClock();
  const storage = openStorage(newFolder(), clock);
  const operations = Array.from({ length: sized(10_000, 50_000) }, (_, i) => {
    return { kind: "insert", id: `id ${i}`, fields: { number: i, list: [i, -i, null] } };
  });
  const odd = { ["__proto__"]: 1, "\ufeffmark": [true] };
  const record: Value = { at: 1, steps: [{ time: 2, operations }], odd, text: "x".repeat(100_000) };
  await storage.commit(new Map<Key, Value>([["log", record]]));
  // About nine items for each operation, of which a thousand are written at once.
  expect(clock.pauses).toBeGreaterThan(sized(80, 400));
  const snapshot = storage.snapshot();
  expect(findDifference(record, snapshot.get("log") as Value)).toBeUndefined();
  snapshot.close();
});

test("[K32] a document of one large text is copied and checksummed in pieces", async () => {
  const clock = new CountingClock();
  const storage = openStorage(newFolder(), clock);
  const text = "abcdefgh".repeat(500_000);
  await storage.commit(new Map<Key, Value>([["document", { text }]]));
  // Four megabytes, one at a time, twice.
  expect(clock.pauses).toBeGreaterThanOrEqual(8);
  const snapshot = storage.snapshot();
  expect(snapshot.get("document")).toEqual({ text });
  snapshot.close();
});

test("a small commit does not pause", async () => {
  const clock = new CountingClock();
  const storage = openStorage(newFolder(), clock);
  await storage.commit(many(1000));
  expect(clock.pauses).toBe(0);
});

test("a value that cannot be written rejects, nothing is written, and the storage continues", async () => {
  const folder = newFolder();
  const storage = openStorage(folder);
  await storage.commit(new Map([["a", 1]]));
  const root = { path: folder, noSubdir: false, overlappingSync: false, maxDbs: 2 };
  const names = { values: "bigpeer.values", shapes: "bigpeer.shapes" };
  const commits = new LargeCommits({ root, ...names }, new CountingClock());
  const value = new Uint8Array([1]);
  const entries = Array.from({ length: MANY }, (_, i) => encodedAs(`b ${i}`, value));
  const values = [...entries, encodedAs("", value), ...entries];
  await expect(commits.write({ values, shapes: [] })).rejects.toThrow(/key/i);
  await commits.close();
  await storage.commit(new Map([["c", 2]]));
  const snapshot = storage.snapshot();
  expect(countOf(snapshot)).toBe(2);
  snapshot.close();
});

test("a key that is too long is refused before anything is written", async () => {
  const storage = openStorage(newFolder());
  const writes = many(MANY).set("x".repeat(5000), 1);
  await expect(storage.commit(writes)).rejects.not.toBeInstanceOf(PeerError);
  const snapshot = storage.snapshot();
  expect(countOf(snapshot)).toBe(0);
  snapshot.close();
});

test("[K32] one large value is decoded a few kilobytes at a time, whatever is read meanwhile", async () => {
  const storage = openStorage(newFolder());
  const operations = Array.from({ length: sized(15_000, 30_000) }, (_, i) => {
    return { kind: "insert", id: `id ${i}`, fields: { number: i, list: [i, -i, { deep: "x" }] } };
  });
  const large = { list: Array.from({ length: 50_000 }, (_, i) => i) };
  const record: Value = { at: 1, steps: [{ time: 2, operations }, { large }], end: true };
  await storage.commit(
    new Map<Key, Value>([
      ["log", record],
      ["small", valueOf(1)],
    ]),
  );
  const snapshot = storage.snapshot();
  const steps = snapshot.getInSteps?.("log");
  let pauses = 0;
  for (;;) {
    const { done, value } = steps?.next() ?? { done: true, value: undefined };
    if (done === true) {
      expect(findDifference(record, value as Value)).toBeUndefined();
      break;
    }
    pauses++;
    expect(snapshot.get("small")).toEqual(valueOf(1));
  }
  // More than a megabyte, sixteen kilobytes at a time.
  expect(pauses).toBeGreaterThan(sized(30, 60));
  snapshot.close();
});
