/**
 * Replicas of one store over a shared log: under any fault, and with any node evaluating, together
 * they do what one machine does.
 */

import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize, sized } from "../../../protocol/test/support/test-size.ts";
import { decodeEntry } from "../../src/cluster/log-entry.ts";
import { Replica, type ReplicaHost } from "../../src/cluster/replica.ts";
import { MemoryReplicaStorage, type ReplicaDisk } from "../support/memory-replica-storage.ts";
import { SimulatedLog, StoppableLog } from "../support/simulated-log.ts";
import { seededRandom, testPlatform } from "../support/test-platform.ts";
import { ReplicaRun, type ReplicaRunOptions } from "./replica-run.ts";

const SEEDS = sized(8, 25);

/** As many as it may take to find a planted fault. */
const MANY_SEEDS = 400;

async function runAll(options: ReplicaRunOptions, seeds = SEEDS): Promise<ReplicaRun["counts"]> {
  const all = { acknowledged: 0, rejected: 0, unknown: 0, epochs: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    const run = new ReplicaRun(seed, options);
    await run.run();
    await run.check();
    const { counts } = run;
    for (const name of Object.keys(all) as (keyof typeof all)[]) all[name] += counts[name];
  }
  return all;
}

for (const [name, faults] of Object.entries({
  "without faults of the log": { lost: 0, forgotten: 0 },
  "when answers of the log are lost": { lost: 0.2, forgotten: 0.2 },
  "when tails break": { lost: 0.1, forgotten: 0, broken: 0.1 },
})) {
  test(`nothing acknowledged is lost or done twice, and all stores are equal, ${name}`, async () => {
    const counts = await runAll({ faults });
    expect(counts.acknowledged).toBeGreaterThan(SEEDS * 5);
    expect(counts.rejected).toBeGreaterThan(SEEDS);
    expect(counts.epochs).toBeGreaterThan(SEEDS * 3);
  });
}

test.runIf(isFullSize)(
  "the run finds a node that answers without knowing whether it still evaluates",
  async () => {
    const faults = { lost: 0, forgotten: 0 };
    await expect(runAll({ faults, planted: "answers unconfirmed" }, MANY_SEEDS)).rejects.toThrow(
      "no answer is older than its question",
    );
  },
);

const NO_FAULTS = { lost: 0, forgotten: 0 };
const EMPTY_DISK: ReplicaDisk = { content: new Map(), position: undefined };

interface Opened {
  readonly replica: Replica;
  readonly storage: MemoryReplicaStorage;
}

async function openOn(
  log: SimulatedLog,
  node: string,
  disk: ReplicaDisk = EMPTY_DISK,
  more: Partial<ReplicaHost> = {},
): Promise<Opened> {
  const storage = await MemoryReplicaStorage.on(disk);
  const wait = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const platform = testPlatform(node.charCodeAt(0));
  const host = { log, storage, platform, node, mayBegin: true, wait, ...more };
  return { replica: await Replica.open(host), storage };
}

function insert({ replica }: Opened, id: number, text = ""): Promise<{ txnId: number }> {
  return replica.store.transact((transaction) => {
    transaction.apply([{ kind: "insert", collection: "c", id, fields: { text } }]);
  });
}

function codeOf(error: unknown): string {
  return error instanceof PeerError ? error.code : String(error);
}

test("a node that follows refuses writes, and reads what another one wrote", async () => {
  const log = new SimulatedLog(seededRandom(1), NO_FAULTS);
  const [a, b] = [await openOn(log, "a"), await openOn(log, "b")];
  expect(await a.replica.evaluate()).toBe(true);
  const { txnId } = await insert(a, 1);
  await expect(insert(b, 2)).rejects.toThrow("another node of the cluster evaluates");
  expect(await b.replica.store.whenReached(txnId).promise).toBe(true);
  expect(b.replica.store.read((view) => view.get("c", 1))).toBeDefined();
  expect([a.replica.evaluator, b.replica.evaluator]).toEqual(["a", "a"]);
  expect(b.replica.store.identity).toEqual(a.replica.store.identity);
});

test("a node that was stopped while another took over answers nothing from the past", async () => {
  const log = new SimulatedLog(seededRandom(9), NO_FAULTS);
  const stopped = new StoppableLog(log);
  const a = await openOn(log, "a", EMPTY_DISK, { log: stopped });
  const b = await openOn(log, "b");
  await a.replica.evaluate();
  await insert(a, 1);
  const wake = stopped.stop();
  const asked = a.replica.store.transact(({ view }) => view.get("c", 2));
  expect(await b.replica.evaluate()).toBe(true);
  await insert(b, 2);
  expect(a.replica.role).toBe("evaluating");
  wake();
  await expect(asked).rejects.toThrow("another node of the cluster evaluates");
  await expect(insert(a, 3)).rejects.toThrow("another node of the cluster evaluates");
});

test("a flush that is larger than an entry is applied as a whole by those who follow", async () => {
  const log = new SimulatedLog(seededRandom(2), NO_FAULTS);
  const [a, b] = [await openOn(log, "a"), await openOn(log, "b")];
  await a.replica.evaluate();
  const before = log.entries.length;
  const { txnId } = await insert(a, 1, "x".repeat(9_000_000));
  expect(log.entries.length - before).toBe(3);
  await b.replica.store.whenReached(txnId).promise;
  expect(b.storage.disk()).toEqual(a.storage.disk());
});

test("a log that has lost its last entries is noticed by all who have seen them", async () => {
  const log = new SimulatedLog(seededRandom(3), NO_FAULTS);
  const [a, b] = [await openOn(log, "a"), await openOn(log, "b")];
  await a.replica.evaluate();
  const { txnId } = await insert(a, 1);
  await b.replica.store.whenReached(txnId).promise;
  const disk = b.storage.disk();
  log.lose(1);
  await expect(openOn(log, "b", disk)).rejects.toThrow("the log ends at 2");
  // A node that has not seen them goes on without them, and the others notice.
  const c = await openOn(log, "c");
  expect(await c.replica.evaluate()).toBe(true);
  await insert(c, 2);
  await expect(openOn(log, "b", disk)).rejects.toThrow("entry 3 is another than the one");
  await expect.poll(() => b.replica.role).toBe("failed");
  expect(codeOf(b.replica.failure)).toBe("store.corrupt");
  await expect(insert(a, 3)).rejects.toThrow("another node");
});

test("a node that follows notices that the log has lost what it has, though nothing is appended", async () => {
  const log = new SimulatedLog(seededRandom(10), NO_FAULTS);
  const [a, b] = [await openOn(log, "a"), await openOn(log, "b")];
  await a.replica.evaluate();
  const { txnId } = await insert(a, 1);
  await b.replica.store.whenReached(txnId).promise;
  log.breakTails();
  const next = await insert(a, 2);
  await b.replica.store.whenReached(next.txnId).promise;
  expect(b.replica.role).toBe("following");
  log.lose(1);
  log.breakTails();
  await expect.poll(() => b.replica.role).toBe("failed");
  expect(String(b.replica.failure)).toContain("the log ends at 3");
});

test("a replica that is closed while it asks the log ends", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const log = new SimulatedLog(seededRandom(seed), NO_FAULTS);
    const { replica } = await openOn(log, "a");
    log.breakTails();
    for (let turns = 0; turns < seed; turns++) await Promise.resolve();
    await replica.close();
    expect(await replica.evaluate()).toBe(false);
  }
});

test("a node may be closed at once", async () => {
  const log = new SimulatedLog(seededRandom(11), NO_FAULTS);
  for (const node of ["a", "b"]) {
    const { replica } = await openOn(log, node);
    await replica.close();
    expect(replica.role).toBe("following");
  }
});

test("an evaluating node notices that the log has lost what it acknowledged", async () => {
  const log = new SimulatedLog(seededRandom(7), NO_FAULTS);
  const a = await openOn(log, "a");
  await a.replica.evaluate();
  await insert(a, 1);
  log.lose(1);
  await expect(insert(a, 2)).rejects.toThrow("to have entry 3, which it acknowledged");
  expect(a.replica.role).toBe("failed");
});

test("a log that was begun by another, or forgot what a store needs, asks for a copy", async () => {
  const log = new SimulatedLog(seededRandom(4), NO_FAULTS);
  const a = await openOn(log, "a");
  await a.replica.evaluate();
  const early = a.storage.disk();
  for (let id = 1; id <= 3; id++) await insert(a, id);
  const late = a.storage.disk();
  await log.trim(log.entries.length);
  expect(log.entries).toHaveLength(1);
  for (const disk of [EMPTY_DISK, early]) {
    await expect(openOn(log, "b", disk)).rejects.toThrow("it must begin with a copy");
  }
  expect((await openOn(log, "b", late)).storage.disk()).toEqual(late);
});

test("a store that cannot keep what the log has fails, and goes on from its disk", async () => {
  const log = new SimulatedLog(seededRandom(5), NO_FAULTS);
  const [a, b] = [await openOn(log, "a"), await openOn(log, "b")];
  await a.replica.evaluate();
  const disk = b.storage.disk();
  const full = new PeerError("store.full", "no space");
  b.storage.failure = full;
  const { txnId } = await insert(a, 1);
  await expect.poll(() => b.replica.role).toBe("failed");
  expect(b.replica.failure).toBe(full);
  const again = await openOn(log, "b", disk);
  await again.replica.store.whenReached(txnId).promise;
  a.storage.failure = full;
  await expect(insert(a, 2)).rejects.toThrow("no space");
  expect(a.replica.role).toBe("failed");
});

test("a node that has applied something differently notices it", async () => {
  const log = new SimulatedLog(seededRandom(8), NO_FAULTS);
  const compared = { comparedEvery: 1 };
  const a = await openOn(log, "a", EMPTY_DISK, compared);
  await a.replica.evaluate();
  await insert(a, 1, "one");
  const { content, position } = a.storage.disk();
  // A record that the next transactions change.
  const counted = [...content].find(([key]) => key.startsWith("n"));
  const [key, value] = counted ?? ["", 0];
  const other = new Map(content).set(key, (value as number) + 1);
  const b = await openOn(log, "b", { content: other, position }, compared);
  await insert(a, 2, "two");
  await expect.poll(() => b.replica.role).toBe("failed");
  expect(String(b.replica.failure)).toContain("have applied entry 4 differently");
});

test("an empty log is begun only by a node that may", async () => {
  const log = new SimulatedLog(seededRandom(6), NO_FAULTS);
  const opening = openOn(log, "a", EMPTY_DISK, { mayBegin: false });
  await expect(opening).rejects.toThrow("expected the log of an app in the cluster, found none");
});

/** Of the entries from a place on, by what they say themselves. */
function formatsIn(log: SimulatedLog, from = 0): number[] {
  return log.entries.slice(from).map(({ bytes }) => decodeEntry(bytes, NEXT.newestFormat).format);
}

/** As a node of the next version, which reads and writes one format more. */
const NEXT = { newestFormat: 3 };

test("the next version writes the old format until the last old node is replaced", async () => {
  const log = new SimulatedLog(seededRandom(11), NO_FAULTS);
  let known = 2;
  const upgraded = { ...NEXT, entryFormat: () => known };
  const [a, b] = [await openOn(log, "a", EMPTY_DISK, upgraded), await openOn(log, "b")];
  await a.replica.evaluate();
  const { txnId } = await insert(a, 1);
  await b.replica.store.whenReached(txnId).promise;
  expect(new Set(formatsIn(log))).toEqual(new Set([2]));
  const disk = b.storage.disk();
  await b.replica.close();

  const mixed = log.entries.length;
  known = 3;
  const next = await insert(a, 2);
  expect(formatsIn(log, mixed)).toEqual([3]);
  const replaced = await openOn(log, "b", disk, upgraded);
  expect(await replaced.replica.store.whenReached(next.txnId).promise).toBe(true);
  expect(replaced.storage.disk()).toEqual(a.storage.disk());
});

test("a version writes its newest format, whatever newer one all nodes read", async () => {
  const log = new SimulatedLog(seededRandom(12), NO_FAULTS);
  const a = await openOn(log, "a", EMPTY_DISK, { entryFormat: () => 9 });
  await a.replica.evaluate();
  expect(formatsIn(log)).toEqual([2, 2]);
});

test("the parts of a flush have one format, though the last old node is replaced meanwhile", async () => {
  const log = new SimulatedLog(seededRandom(13), NO_FAULTS);
  let known = 2;
  let asked = 0;
  const entryFormat = (): number => {
    const now = known;
    // The store asks before it evaluates; every question after that of the first part is answered
    // with the new format.
    if (log.entries.length === 2 && ++asked === 2) known = 3;
    return now;
  };
  const a = await openOn(log, "a", EMPTY_DISK, { ...NEXT, entryFormat });
  await a.replica.evaluate();
  await insert(a, 1, "x".repeat(9_000_000));
  await insert(a, 2);
  expect(formatsIn(log)).toEqual([2, 2, 2, 2, 2, 3]);
});

test("an old node stops at an entry of a newer format, and says that it must be upgraded", async () => {
  const log = new SimulatedLog(seededRandom(14), NO_FAULTS);
  const old = await openOn(log, "a");
  await old.replica.evaluate();
  await insert(old, 1);
  const next = await openOn(log, "b", EMPTY_DISK, NEXT);
  await next.replica.evaluate();
  await insert(next, 2);

  await expect.poll(() => old.replica.role).toBe("failed");
  expect(codeOf(old.replica.failure)).toBe("store.format_newer");
  expect(String(old.replica.failure)).toContain("format 3, this node reads up to 2: upgrade");
  await expect(insert(old, 3)).rejects.toThrow("another node of the cluster evaluates");
  expect(old.replica.store.read((view) => view.get("c", 2))).toBeUndefined();
  // What it has is right, so the next version goes on from there.
  const upgraded = await openOn(log, "a", old.storage.disk(), NEXT);
  expect(await upgraded.replica.whenReached(log.entries.length).promise).toBe(true);
  expect(upgraded.storage.disk()).toEqual(next.storage.disk());
});

test("an old node stops if the log was trimmed to entries of a newer format", async () => {
  const log = new SimulatedLog(seededRandom(15), NO_FAULTS);
  const stopped = new StoppableLog(log);
  const old = await openOn(log, "a", EMPTY_DISK, { log: stopped });
  const next = await openOn(log, "b", EMPTY_DISK, NEXT);
  const disk = old.storage.disk();
  const wake = stopped.stop();
  log.breakTails();
  await next.replica.evaluate();
  await insert(next, 1);
  await log.trim(2);
  wake();
  await expect.poll(() => old.replica.role).toBe("failed");
  expect(codeOf(old.replica.failure)).toBe("store.format_newer");
  const opened = openOn(log, "a", disk);
  await expect(opened).rejects.toThrow("this node reads up to 2: upgrade this node");
});
