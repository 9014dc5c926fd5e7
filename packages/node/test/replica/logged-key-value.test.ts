import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { KeyValue, Snapshot, Writes } from "@bigpeer/engine";
import type { LogPosition } from "@bigpeer/engine/cluster";
import { PeerError, type Value } from "@bigpeer/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { keyValueContract } from "../../../engine/test/contract/key-value-contract.ts";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import type { JournalLimits } from "../../src/journal/journal-limits.ts";
import { openJournaled } from "../../src/journal/journaled-key-value.ts";
import { readJournaled } from "../../src/journal/journaled-reader.ts";
import type { TableOptions } from "../../src/journal/table-key-value.ts";
import { LmdbTree } from "../../src/lmdb/lmdb-tree.ts";
import { type LoggedLmdb, openLogged } from "../../src/replica/logged-key-value.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** So small that layers change with every few commits, and some commits are large. */
const TINY: Partial<JournalLimits> = { payloadBytesMax: 4096, layerKeys: 8 };

/** Nothing goes to the tree by itself, except a commit of many records. */
const LATER: Partial<JournalLimits> = { layerMs: 1_000_000, recordsMax: 4000 };

const MORE_THAN_AT_ONCE = 5000;

function positionAt(sequence: number): LogPosition {
  return { sequence, digest: new Uint8Array(32).fill(sequence), epoch: 2, writer: "a.1" };
}

async function appended(sequence: number): Promise<LogPosition> {
  return positionAt(sequence);
}

/** Appends every commit to a log that takes all. */
class Appending implements KeyValue {
  readonly #storage: LoggedLmdb;

  constructor(storage: LoggedLmdb) {
    this.#storage = storage;
  }

  snapshot(): Snapshot {
    return this.#storage.snapshot();
  }

  commit(writes: Writes): Promise<void> {
    const sequence = (this.#storage.position?.sequence ?? 0) + 1;
    return this.#storage.commitLogged(writes, () => appended(sequence));
  }

  close(): Promise<void> {
    return this.#storage.close();
  }
}

/** `npm test` tries the contract on each storage once, as it is used. */
const LIMITS = sized({ log: {} }, { log: {}, "log with tiny limits": TINY });

for (const [name, limits] of Object.entries(LIMITS)) {
  keyValueContract(name, () => {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-logged-"));
    return {
      open: async () => new Appending(await openLogged(folder, { limits })),
      remove: () => rmSync(folder, { recursive: true }),
    };
  });
}

if (isFullSize)
  keyValueContract("log without its commits", () => {
    const folder = mkdtempSync(join(tmpdir(), "bigpeer-logged-"));
    return {
      open: () => openLogged(folder),
      remove: () => rmSync(folder, { recursive: true }),
    };
  });

async function opened(folder: string, options: TableOptions = {}): Promise<LoggedLmdb> {
  const storage = await openLogged(folder, options);
  onTestFinished(() => storage.close());
  return storage;
}

function valueOf(storage: Pick<KeyValue, "snapshot">, key: string): Value | undefined {
  const snapshot = storage.snapshot();
  try {
    return snapshot.get(key);
  } finally {
    snapshot.close();
  }
}

function put(storage: LoggedLmdb, sequence: number, entries: object): Promise<void> {
  return storage.commitLogged(new Map(Object.entries(entries)), () => appended(sequence));
}

function many(value: number): Map<string, Value> {
  return new Map(Array.from({ length: MORE_THAN_AT_ONCE }, (_, i) => [`key ${i}`, value]));
}

/** An append that the test resolves. */
function pendingAppend(): {
  readonly append: () => Promise<LogPosition>;
  readonly resolve: (position: LogPosition) => void;
  calls: number;
} {
  let settle: ((position: LogPosition) => void) | undefined;
  const promise = new Promise<LogPosition>((resolve) => {
    settle = resolve;
  });
  const pending = {
    append: () => {
      pending.calls++;
      return promise;
    },
    resolve: (position: LogPosition) => settle?.(position),
    calls: 0,
  };
  return pending;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

/** The state of a folder that a crash at this moment would leave. */
async function afterCrash(folder: string): Promise<LoggedLmdb> {
  const killed = join(temporaryFolder(), "killed");
  cpSync(folder, killed, { recursive: true });
  return opened(killed);
}

test("[K86] a storage starts at the position with which it was closed, and has no journal", async () => {
  const folder = temporaryFolder();
  const storage = await openLogged(folder);
  expect(storage.position).toBeUndefined();
  await put(storage, 7, { a: 1 });
  await put(storage, 9, { b: 2 });
  expect(storage.position).toEqual(positionAt(9));
  expect(readdirSync(folder)).toEqual(["data.mdb", "lock.mdb"]);
  await storage.close();
  expect(readdirSync(folder)).toEqual(["data.mdb", "lock.mdb"]);
  const again = await opened(folder);
  expect(again.position).toEqual(positionAt(9));
  expect(again.durablePosition).toEqual(positionAt(9));
  expect([valueOf(again, "a"), valueOf(again, "b")]).toEqual([1, 2]);
});

test("[K86] the tree follows in the background, each time with the position that it reaches", async () => {
  const folder = temporaryFolder();
  const storage = await opened(folder, { limits: { layerMs: 1 } });
  await put(storage, 1, { a: 1 });
  await vi.waitFor(() => expect(storage.durablePosition).toEqual(positionAt(1)));
  const killed = await afterCrash(folder);
  expect(killed.position).toEqual(positionAt(1));
  expect(valueOf(killed, "a")).toBe(1);
});

test("[K86] a crash takes away what the tree does not have, together with its position", async () => {
  const folder = temporaryFolder();
  const storage = await opened(folder, { limits: LATER });
  await storage.commit(new Map([["kept", 1]]));
  await put(storage, 1, { a: 1 });
  const killed = await afterCrash(folder);
  expect(killed.position).toBeUndefined();
  expect([valueOf(killed, "kept"), valueOf(killed, "a")]).toEqual([1, undefined]);
});

test("a snapshot shows the state before as long as the log has not taken a commit", async () => {
  const storage = await opened(temporaryFolder());
  await put(storage, 1, { a: 1 });
  for (const [i, writes] of [new Map([["a", 2]]), many(2).set("a", 3)].entries()) {
    const before = valueOf(storage, "a");
    const pending = pendingAppend();
    const commit = storage.commitLogged(writes, pending.append);
    await vi.waitFor(() => expect(pending.calls).toBe(1));
    const during = storage.snapshot();
    expect(during.get("a")).toBe(before);
    expect(storage.position).toEqual(positionAt(i + 1));
    pending.resolve(positionAt(i + 2));
    await commit;
    expect(during.get("a")).toBe(before);
    during.close();
    expect(valueOf(storage, "a")).toBe(i + 2);
    expect(storage.position).toEqual(positionAt(i + 2));
  }
});

test("a commit that the log refuses leaves nothing, whatever the error is", async () => {
  const folder = temporaryFolder();
  const storage = await openLogged(folder);
  await put(storage, 1, { a: 1 });
  const errors = [
    new Error("fenced"),
    new PeerError("store.busy", "the log is busy"),
    new PeerError("store.full", "the log is full"),
  ];
  for (const error of errors) {
    for (const writes of [new Map([["a", 2]]), many(2).set("a", 3), new Map<string, Value>()]) {
      const append = vi.fn<() => Promise<LogPosition>>().mockRejectedValue(error);
      await expect(storage.commitLogged(writes, append)).rejects.toBe(error);
      expect(append).toHaveBeenCalledTimes(1);
      expect([valueOf(storage, "a"), valueOf(storage, "key 0")]).toEqual([1, undefined]);
      expect(storage.position).toEqual(positionAt(1));
    }
  }
  await put(storage, 2, { b: 1 });
  await storage.close();
  const again = await opened(folder);
  expect(again.position).toEqual(positionAt(2));
  expect([valueOf(again, "a"), valueOf(again, "b")]).toEqual([1, 1]);
});

test("a full disk refuses a commit before it is appended", async () => {
  const storage = await opened(temporaryFolder());
  await put(storage, 1, { a: 1 });
  const full = new PeerError("store.full", "disk full");
  const reserved = vi.spyOn(LmdbTree.prototype, "isReserved").mockReturnValue(false);
  const reserve = vi.spyOn(LmdbTree.prototype, "reserve").mockRejectedValue(full);
  onTestFinished(() => {
    reserved.mockRestore();
    reserve.mockRestore();
  });
  for (const writes of [new Map([["a", 2]]), many(2)]) {
    const pending = pendingAppend();
    await expect(storage.commitLogged(writes, pending.append)).rejects.toBe(full);
    expect(pending.calls).toBe(0);
    expect(storage.position).toEqual(positionAt(1));
  }
  reserved.mockRestore();
  reserve.mockRestore();
  await put(storage, 2, { a: 2 });
  expect(valueOf(storage, "a")).toBe(2);
});

test("a large commit is on the disk with its position when it is acknowledged", async () => {
  const folder = temporaryFolder();
  const storage = await opened(folder, { limits: { ...LATER, payloadBytesMax: 10_000 } });
  await put(storage, 1, { a: 1 });
  await put(storage, 2, { large: "x".repeat(20_000) });
  expect(storage.durablePosition).toEqual(positionAt(2));
  await put(storage, 3, { b: 1 });
  await storage.commitLogged(many(4), () => appended(4));
  expect(storage.durablePosition).toEqual(positionAt(4));
  const killed = await afterCrash(folder);
  expect(killed.position).toEqual(positionAt(4));
  expect(["a", "b", "key 4999"].map((key) => valueOf(killed, key))).toEqual([1, 1, 4]);
  expect(valueOf(killed, "large")).toHaveLength(20_000);
});

test("a storage that cannot keep what the log has refuses all commits, and goes on when it is opened again", async () => {
  const folder = temporaryFolder();
  const storage = await openLogged(folder, { limits: LATER });
  await put(storage, 1, { a: 1 });
  const cause = new PeerError("store.full", "disk full");
  const write = Reflect.get(LmdbTree.prototype, "write");
  const failing = vi.spyOn(LmdbTree.prototype, "write").mockImplementation(async function (
    this: LmdbTree,
    commit,
  ) {
    if (commit.values.length > 1) throw cause;
    return write.call(this, commit);
  });
  onTestFinished(() => failing.mockRestore());
  const failure = { code: "store.write_failed", cause };
  const pending = pendingAppend();
  pending.resolve(positionAt(2));
  await expect(storage.commitLogged(many(2), pending.append)).rejects.toMatchObject(failure);
  failing.mockRestore();
  expect(storage.position).toEqual(positionAt(1));
  await expect(storage.commitLogged(many(2), pending.append)).rejects.toMatchObject(failure);
  await expect(storage.commit(new Map([["b", 1]]))).rejects.toMatchObject(failure);
  expect(pending.calls).toBe(1);
  expect([valueOf(storage, "a"), valueOf(storage, "key 0")]).toEqual([1, undefined]);
  await storage.close();
  const again = await opened(folder);
  expect(again.position).toEqual(positionAt(1));
  await again.commitLogged(many(2), () => appended(2));
  expect(valueOf(again, "key 0")).toBe(2);
});

test("while the tree cannot be written, commits are refused before they are appended", async () => {
  const storage = await opened(temporaryFolder(), { limits: { layerKeys: 2 } });
  const broken = new PeerError("store.write_failed", "the disk is broken");
  const failing = vi.spyOn(LmdbTree.prototype, "write").mockRejectedValue(broken);
  onTestFinished(() => failing.mockRestore());
  await put(storage, 1, { a: 1, b: 1 });
  await turns();
  const pending = pendingAppend();
  for (const writes of [new Map([["a", 2]]), many(2), new Map<string, Value>()]) {
    await expect(storage.commitLogged(writes, pending.append)).rejects.toBe(broken);
  }
  expect(pending.calls).toBe(0);
  expect(valueOf(storage, "a")).toBe(1);
  failing.mockRestore();
  await put(storage, 2, { a: 2 });
  expect(valueOf(storage, "a")).toBe(2);
});

test("[K84] a commit waits before it is appended while the tree has not caught up", async () => {
  const storage = await opened(temporaryFolder(), { limits: { layerKeys: 2 } });
  const write = Reflect.get(LmdbTree.prototype, "write");
  const gate = pendingAppend();
  const held = vi.spyOn(LmdbTree.prototype, "write").mockImplementation(async function (
    this: LmdbTree,
    commit,
  ) {
    await gate.append();
    return write.call(this, commit);
  });
  onTestFinished(() => held.mockRestore());
  await put(storage, 1, { a: 1, b: 1 });
  await put(storage, 2, { a: 2, b: 2 });
  const pending = pendingAppend();
  pending.resolve(positionAt(3));
  const third = storage.commitLogged(new Map([["a", 3]]), pending.append);
  await turns();
  expect(pending.calls).toBe(0);
  expect(valueOf(storage, "a")).toBe(2);
  gate.resolve(positionAt(0));
  await third;
  expect(valueOf(storage, "a")).toBe(3);
});

test("a commit without writes only moves the position, which goes to the disk in its turn", async () => {
  const folder = temporaryFolder();
  const storage = await opened(folder, { limits: LATER });
  await put(storage, 1, { a: 1 });
  const before = storage.snapshot();
  await put(storage, 2, {});
  const after = storage.snapshot();
  expect(after.state).toBe(before.state);
  before.close();
  after.close();
  expect(storage.position).toEqual(positionAt(2));
  expect(storage.durablePosition).toBeUndefined();
  await storage.close();
  const again = await opened(folder, { limits: LATER });
  expect(again.position).toEqual(positionAt(2));
  await put(again, 3, {});
  await again.commit(new Map([["b", 1]]));
  expect((await afterCrash(folder)).position).toEqual(positionAt(3));
});

test("a commit beside the log keeps the position", async () => {
  const folder = temporaryFolder();
  const storage = await opened(folder, { limits: LATER });
  await put(storage, 1, { a: 1 });
  await storage.commit(new Map([["b", 1]]));
  expect(storage.position).toEqual(positionAt(1));
  const killed = await afterCrash(folder);
  expect(killed.position).toEqual(positionAt(1));
  expect([valueOf(killed, "a"), valueOf(killed, "b")]).toEqual([1, 1]);
});

test.runIf(isFullSize)(
  "a copy has the position of everything in it, and commits continue meanwhile",
  async () => {
    const folder = temporaryFolder();
    const storage = await opened(folder, { limits: { ...LATER, ...TINY } });
    await put(storage, 1, { count: 1 });
    await put(storage, 2, {});
    const counts = new Map([[2, 1]]);
    const progress = { isCopied: false };
    const copied = storage.copyTo(join(folder, "copy")).then(() => {
      progress.isCopied = true;
    });
    for (let count = 3; !progress.isCopied; count++) {
      counts.set(count, count);
      await put(storage, count, { count });
    }
    await copied;
    const copy = await opened(join(folder, "copy"));
    expect(counts.get(copy.position?.sequence ?? 0)).toBe(valueOf(copy, "count"));
  },
);

test("checksums are added between commits, when the table is in the tree", async () => {
  const storage = await opened(temporaryFolder());
  await put(storage, 1, { a: 1 });
  expect(await storage.addChecksums("\0")).toBeUndefined();
  expect(storage.durablePosition).toEqual(positionAt(1));
  expect(storage.usedBytes()).toBeGreaterThan(0);
});

test("a storage with a journal that was not closed cleanly is replayed, and then follows a log", async () => {
  const folder = temporaryFolder();
  const journaled = await openJournaled(folder);
  onTestFinished(() => journaled.close());
  journaled.startJournal();
  await journaled.commit(new Map([["a", 1]]));
  const killed = join(temporaryFolder(), "killed");
  cpSync(folder, killed, { recursive: true });
  const steps: string[] = [];
  const storage = await openLogged(killed, { onReplay: (step) => steps.push(step) });
  expect(steps).toEqual(["begins", "ends"]);
  expect(storage.position).toBeUndefined();
  expect(valueOf(storage, "a")).toBe(1);
  expect(readdirSync(killed)).toEqual(["data.mdb", "lock.mdb"]);
  await put(storage, 1, { a: 2 });
  await storage.close();
  expect((await opened(killed)).position).toEqual(positionAt(1));
});

test("[K87] a storage that was opened without the log never follows it again", async () => {
  const folder = temporaryFolder();
  const storage = await openLogged(folder);
  await put(storage, 1, { a: 1 });
  await storage.close();
  const reader = readJournaled(folder);
  expect(valueOf(reader, "a")).toBe(1);
  await reader.close();
  const refusing = openJournaled(folder, {
    checkTree: () => {
      throw new Error("of another format");
    },
  });
  await expect(refusing).rejects.toThrow("of another format");
  const replica = await openLogged(folder);
  expect(replica.position).toEqual(positionAt(1));
  await replica.close();

  const alone = await openJournaled(folder);
  onTestFinished(() => alone.close());
  // It is durable before anything is written.
  const killed = await afterCrash(folder);
  expect(killed.position).toBeUndefined();
  expect(valueOf(killed, "a")).toBe(1);
  alone.startJournal();
  await alone.commit(new Map([["a", 2]]));
  await alone.close();
  const again = await opened(folder);
  expect(again.position).toBeUndefined();
  expect(valueOf(again, "a")).toBe(2);
  await put(again, 5, { a: 3 });
  await again.close();
  expect((await opened(folder)).position).toEqual(positionAt(5));
});
