/**
 * Groups of the commit queue: when the next one is flushed, and who is in it. The clock is the test's
 * own; it stands still unless somebody moves it.
 */

import { setImmediate } from "node:timers/promises";
import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { KeyValue, Writes } from "../../src/platform.ts";
import { MemoryDisk } from "../../src/store/memory-disk.ts";
import { MemoryKeyValue } from "../../src/store/memory-key-value.ts";
import { Store } from "../../src/store/store.ts";
import { testPlatform } from "../support/test-platform.ts";

const FLUSH_MS = 8;

interface Bench {
  readonly store: Store;
  readonly disk: MemoryDisk;
  readonly clock: { ms: number; readonly msPerPause: number };
  /** `flush` with its documents, and what tests add. */
  readonly events: string[];
}

async function openBench(msPerPause = 0): Promise<Bench> {
  const disk = new MemoryDisk();
  const memory = new MemoryKeyValue(disk);
  const events: string[] = [];
  const storage: KeyValue = {
    snapshot: () => memory.snapshot(),
    commit: (writes) => {
      events.push(`flush of ${documentsOf(writes)}`);
      return memory.commit(writes);
    },
    close: () => memory.close(),
  };
  const clock = { ms: 0, msPerPause };
  const platform = {
    ...testPlatform(),
    elapsed: () => clock.ms,
    pause: () => {
      clock.ms += clock.msPerPause;
      return setImmediate();
    },
  };
  const store = await Store.open(storage, platform);
  events.length = 0;
  disk.holdSyncs();
  return { store, disk, clock, events };
}

function documentsOf(writes: Writes): number {
  return [...writes.keys()].filter((key) => key.startsWith("d")).length;
}

let made = 0;

async function put({ store }: Bench): Promise<void> {
  const fields = { n: 1 };
  const operation: Operation = { kind: "insert", collection: "c", id: `d${made++}`, fields };
  await store.transact((transaction) => transaction.apply([operation]));
}

function putMany(bench: Bench, count: number): Promise<void>[] {
  return Array.from({ length: count }, () => put(bench));
}

/** Lets everything happen that waits for nobody. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await setImmediate();
}

/** The flush that is under way takes so long, and ends. */
async function endFlush({ disk, clock }: Bench, ms = FLUSH_MS): Promise<void> {
  clock.ms += ms;
  expect(disk.syncNext()).toBe(true);
  await settle();
}

test("[K22] a group that formed during a flush is written before the answers of that flush are sent", async () => {
  const bench = await openBench();
  const first = putMany(bench, 2);
  await settle();
  bench.clock.ms += FLUSH_MS;
  const second = putMany(bench, 2);
  void Promise.all(first).then(() => bench.events.push("answers"));
  await endFlush(bench, 1);
  expect(bench.events).toEqual(["flush of 2", "flush of 2", "answers"]);
  await endFlush(bench);
  await Promise.all(second);
});

test("[K22] so is one of a quarter of its size, since answered callers are evaluated meanwhile", async () => {
  const bench = await openBench();
  const first = putMany(bench, 4);
  await settle();
  bench.clock.ms += FLUSH_MS / 2;
  const second = put(bench);
  const third = Promise.all(first).then(() => putMany(bench, 4));
  await endFlush(bench, FLUSH_MS / 2);
  expect(bench.events).toEqual(["flush of 4", "flush of 1"]);
  await endFlush(bench);
  expect(bench.events).toEqual(["flush of 4", "flush of 1", "flush of 4"]);
  await endFlush(bench);
  await Promise.all([second, ...(await third)]);
});

test("[K22] a group that formed early in a flush lets newly answered callers join first", async () => {
  const bench = await openBench();
  const first = putMany(bench, 2);
  await settle();
  const second = putMany(bench, 2);
  const third = Promise.all(first).then(() => putMany(bench, 2));
  await endFlush(bench);
  expect(bench.events).toEqual(["flush of 2", "flush of 4"]);
  await endFlush(bench);
  await Promise.all([...second, ...(await third)]);
});

test("[K22] a small group waits for callers that were just answered, up to half of all", async () => {
  const bench = await openBench();
  const first = putMany(bench, 6);
  await settle();
  const second = put(bench);
  const later = Promise.all(first).then(async () => {
    await setImmediate();
    return putMany(bench, 2);
  });
  await endFlush(bench);
  expect(bench.events).toEqual(["flush of 6"]);
  const last = putMany(bench, 1);
  await settle();
  expect(bench.events).toEqual(["flush of 6", "flush of 4"]);
  await endFlush(bench);
  await Promise.all([second, ...(await later), ...last]);
});

test("[K22] long requests are flushed as soon as half of all callers are there", async () => {
  const bench = await openBench();
  const first = putMany(bench, 5);
  await settle();
  const second = put(bench);
  const later = Promise.all(first).then(() => {
    const requests: Promise<void>[] = [];
    for (let i = 0; i < 5; i++) {
      bench.clock.ms += FLUSH_MS / 5;
      requests.push(put(bench));
    }
    return requests;
  });
  await endFlush(bench);
  expect(bench.events).toEqual(["flush of 5", "flush of 3"]);
  await endFlush(bench, 1);
  expect(bench.events).toEqual(["flush of 5", "flush of 3", "flush of 3"]);
  await endFlush(bench);
  await Promise.all([second, ...(await later)]);
});

test("[K22] a group does not wait long for callers that do not come", async () => {
  const bench = await openBench(FLUSH_MS / 20);
  const first = putMany(bench, 6);
  await settle();
  const second = put(bench);
  await endFlush(bench);
  await Promise.all(first);
  expect(bench.events).toEqual(["flush of 6", "flush of 1"]);
  await endFlush(bench);
  await second;
});

test("[K22] a group waits at most one flush for callers that come one by one", async () => {
  const bench = await openBench(FLUSH_MS / 20);
  const first = putMany(bench, 80);
  await settle();
  const requests = [put(bench)];
  bench.clock.ms += FLUSH_MS;
  expect(bench.disk.syncNext()).toBe(true);
  for (let i = 0; i < 30; i++) {
    await setImmediate();
    requests.push(put(bench));
  }
  expect(bench.events).toHaveLength(2);
  bench.disk.releaseSyncs();
  await Promise.all([...first, ...requests]);
});
