import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Snapshot } from "@bigpeer/engine";
import type { Value } from "@bigpeer/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { keyValueContract } from "../../../engine/test/contract/key-value-contract.ts";
import { sized } from "../../../protocol/test/support/test-size.ts";
import type { JournalLimits } from "../../src/journal/journal-limits.ts";
import type { OnReplay } from "../../src/journal/journal-recovery.ts";
import { type JournaledLmdb, openJournaled } from "../../src/journal/journaled-key-value.ts";
import { LmdbTree } from "../../src/lmdb/lmdb-tree.ts";
import type { SliceClock } from "../../src/slices.ts";

/** So small that layers and segments change with every few commits. */
const TINY: Partial<JournalLimits> = {
  segmentBytesMin: 1024,
  segmentBytesMax: 8192,
  payloadBytesMax: 4096,
  layerKeys: 8,
};

/** `npm test` tries the contract on each storage once, as it is used. */
const LIMITS = sized({ journal: {} }, { journal: {}, "journal with tiny limits": TINY });

for (const [name, limits] of Object.entries(LIMITS)) {
  keyValueContract(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
    return {
      open: async () => {
        const storage = await openJournaled(folder, { limits });
        storage.startJournal();
        return storage;
      },
      remove: () => rmSync(folder, { recursive: true }),
    };
  });
}

const cleanups: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function openStorage(
  limits: Partial<JournalLimits>,
): Promise<{ storage: JournaledLmdb; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const storage = await openJournaled(folder, { limits });
  cleanups.push(() => storage.close());
  storage.startJournal();
  return { storage, folder };
}

function fill(from: number, count: number, size: number): Map<string, Value> {
  const text = "x".repeat(size);
  return new Map(Array.from({ length: count }, (_, i) => [`key ${from + i}`, text]));
}

test("[K80] before the journal starts, each commit is in the tree", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const storage = await openJournaled(folder);
  cleanups.push(() => storage.close());
  await storage.commit(new Map([["a", 1]]));
  expect(readdirSync(folder)).toEqual(["data.mdb", "lock.mdb"]);
  storage.startJournal();
  await storage.commit(new Map([["a", 2]]));
  expect(readdirSync(folder)).toEqual(["data.mdb", "journal-00000001.seg", "lock.mdb"]);
  expect(statSync(join(folder, "journal-00000001.seg")).mode & 0o777).toBe(0o600);
});

test("[K84] the state of a snapshot changes with a commit, not when the tree catches up", async () => {
  const { storage } = await openStorage({ layerMs: 1 });
  await storage.commit(new Map([["a", 1]]));
  const first = storage.snapshot();
  const before = storage.usedBytes();
  await vi.waitFor(() => expect(storage.usedBytes()).not.toBe(before));
  const second = storage.snapshot();
  expect(second.state).toBe(first.state);
  await storage.commit(new Map([["a", 2]]));
  const third = storage.snapshot();
  expect(third.state).not.toBe(first.state);
  expect([first, second, third].map((snapshot) => snapshot.get("a"))).toEqual([1, 1, 2]);
  for (const snapshot of [first, second, third]) snapshot.close();
});

test("segments are used again, however much is written", async () => {
  const { storage, folder } = await openStorage({ ...TINY, layerKeys: 40 });
  let most = 0;
  for (let i = 0; i < 400; i++) {
    await storage.commit(fill(i % 50, 3, 200));
    most = Math.max(most, readdirSync(folder).filter((name) => name.startsWith("journal")).length);
  }
  expect(most).toBeLessThan(20);
});

test("[K84] snapshots that keep too much memory end, the oldest first, and commits go on", async () => {
  const { storage } = await openStorage({
    ...TINY,
    layerKeys: 1_000_000,
    layerBytes: 50_000,
    retainedBytesMax: 60_000,
  });
  const snapshots: Snapshot[] = [];
  for (let i = 0; i < 120; i++) {
    await storage.commit(fill(i * 3, 3, 1000));
    snapshots.push(storage.snapshot());
  }
  const states = snapshots.map(({ state }) => state !== undefined);
  expect(states[0]).toBe(false);
  expect(() => snapshots[0]?.get("key 0")).toThrow(
    expect.objectContaining({ code: "store.snapshot_expired" }),
  );
  expect(states.at(-1)).toBe(true);
  expect(snapshots.at(-1)?.get("key 359")).toHaveLength(1000);
  for (const snapshot of snapshots) snapshot.close();
});

test("[K84] a commit waits while the tree has not caught up, and reads do not", async () => {
  const { storage } = await openStorage({ layerKeys: 4 });
  await storage.commit(new Map([["first", 1]]));
  const write = Reflect.get(LmdbTree.prototype, "write");
  let open: (() => void) | undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const held = vi.spyOn(LmdbTree.prototype, "write").mockImplementation(async function (
    this: LmdbTree,
    commit,
  ) {
    await gate;
    return write.call(this, commit);
  });
  cleanups.push(() => held.mockRestore());
  await storage.commit(fill(0, 4, 10));
  await storage.commit(fill(4, 4, 10));
  let isDone = false;
  const third = storage.commit(fill(8, 1, 10)).then(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 20; turn++) await setImmediate();
  expect(isDone).toBe(false);
  const snapshot = storage.snapshot();
  expect(snapshot.has("key 7")).toBe(true);
  expect(snapshot.has("key 8")).toBe(false);
  snapshot.close();
  open?.();
  await third;
  const later = storage.snapshot();
  expect(later.has("key 8")).toBe(true);
  later.close();
});

test("[K79] a commit of many records is in the journal, and visible as a whole after its pauses", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const clock = new PausingClock();
  const storage = await openStorageWith(folder, clock);
  await storage.commit(manyKeys(1));
  let looks = 0;
  clock.onPause = () => {
    looks++;
    const snapshot = storage.snapshot();
    const range = { from: "key 0", to: "key 99" };
    const seen = new Set(Array.from(snapshot.entries(range), ({ value }) => value));
    expect([...seen, snapshot.get("key 4999")]).toEqual([1, 1]);
    snapshot.close();
  };
  const old = storage.snapshot();
  await storage.commit(manyKeys(2).set("new", 2));
  clock.onPause = () => {};
  expect(looks).toBeGreaterThan(80);
  const after = storage.snapshot();
  expect([old, after].map((each) => each.get("key 4999"))).toEqual([1, 2]);
  expect([old, after].map((each) => each.get("new"))).toEqual([undefined, 2]);
  for (const each of [old, after]) each.close();

  // What a crash leaves: the tree gets the commit after this turn.
  const crashed = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(crashed, { recursive: true }));
  cpSync(folder, crashed, { recursive: true });
  let replayed = 0;
  const onReplay: OnReplay = (step, { entries }) => {
    if (step === "ends") replayed = entries;
  };
  const again = await openJournaled(crashed, { onReplay });
  cleanups.push(() => again.close());
  expect(replayed).toBe(1);
  const snapshot = again.snapshot();
  expect([snapshot.get("key 0"), snapshot.get("key 4999"), snapshot.get("new")]).toEqual([2, 2, 2]);
  snapshot.close();
});

/** Each look at the clock is a slice later, so that whoever looks pauses. */
class PausingClock implements SliceClock {
  onPause: () => void = () => {};
  #nowMs = 0;

  elapsed(): number {
    this.#nowMs += 10;
    return this.#nowMs;
  }

  async pause(): Promise<void> {
    this.onPause();
  }
}

/** Nothing goes to the tree by itself. */
async function openStorageWith(folder: string, clock: SliceClock): Promise<JournaledLmdb> {
  const storage = await openJournaled(folder, { clock, limits: { layerMs: 1_000_000 } });
  cleanups.push(() => storage.close());
  storage.startJournal();
  return storage;
}

function manyKeys(value: number): Map<string, Value> {
  return new Map(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, value]));
}

test("a commit that waits for other work when the storage is closed is kept", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bigpeer-journal-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const storage = await openJournaled(folder);
  storage.startJournal();
  await storage.commit(new Map([["a", 1]]));
  const pass = storage.addChecksums("\0");
  const commit = storage.commit(new Map([["a", 2]]));
  const closed = storage.close();
  await Promise.all([pass, commit, closed]);
  const again = await openJournaled(folder);
  cleanups.push(() => again.close());
  const snapshot = again.snapshot();
  expect(snapshot.get("a")).toBe(2);
  snapshot.close();
});

test("a copy has everything that was committed before, and commits continue meanwhile", async () => {
  const { storage, folder } = await openStorage(TINY);
  const progress = { isCopied: false };
  let count = 0;
  await storage.commit(new Map([["count", count]]));
  const copy = join(folder, "copy");
  const copied = storage.copyTo(copy).then(() => {
    progress.isCopied = true;
  });
  const before = count;
  while (!progress.isCopied) await storage.commit(new Map([["count", ++count]]));
  await copied;
  const opened = await openJournaled(copy);
  const snapshot = opened.snapshot();
  expect(snapshot.get("count")).toBeGreaterThanOrEqual(before);
  snapshot.close();
  await opened.close();
});
