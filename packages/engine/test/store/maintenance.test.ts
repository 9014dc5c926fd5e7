import { type Operation, timeOfMs } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { MAINTENANCE_BATCH } from "../../src/limits.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import type { Store } from "../../src/store/store.ts";
import { takeUpload } from "../../src/store/taken-upload.ts";
import { uploadDigest } from "../../src/store/upload.ts";
import { openStore, problems } from "../support/open-store.ts";

const DAY_MS = 86_400_000;

function insert(id: string): Operation {
  return { kind: "insert", collection: "c", id, fields: { n: 1 } };
}

async function write(store: Store, ...operations: Operation[]): Promise<void> {
  await store.transact((transaction) => transaction.apply(operations));
}

function logBounds(store: Store): { floor: number; logCount: number } {
  const { floor, logCount } = store.read((snapshot) => snapshot.head);
  return { floor, logCount };
}

test("[K29] the log keeps transactions that are young enough", async () => {
  const retention = { ...DEFAULT_RETENTION, logAgeMs: DAY_MS };
  const { store, platform, storage } = await openStore({ retention });
  await write(store, insert("a"));
  await write(store, insert("b"));
  platform.nowMs += 2 * DAY_MS;
  await write(store, insert("c"));
  expect(await store.maintain()).toBe(1);
  expect(logBounds(store)).toEqual({ floor: 2, logCount: 2 });
  expect(await store.maintain()).toBe(0);
  expect(problems(storage)).toEqual([]);
});

test("[K29] the log is bounded by count and by bytes", async () => {
  const counted = await openStore({ retention: { ...DEFAULT_RETENTION, logCount: 3 } });
  for (let i = 0; i < 10; i++) await write(counted.store, insert(`d${i}`));
  await counted.store.maintain();
  expect(logBounds(counted.store).logCount).toBeLessThanOrEqual(4);
  expect(problems(counted.storage)).toEqual([]);

  const sized = await openStore({ retention: { ...DEFAULT_RETENTION, logBytes: 500 } });
  for (let i = 0; i < 50; i++) await write(sized.store, insert(`d${i}`));
  await sized.store.maintain();
  expect(sized.store.read((snapshot) => snapshot.head.logBytes)).toBeLessThan(700);
  expect(logBounds(sized.store).logCount).toBeGreaterThan(1);
  expect(problems(sized.storage)).toEqual([]);
});

test("[K29] tombstones are removed after the horizon, in bounded transactions", async () => {
  const { store, platform, storage } = await openStore();
  const count = MAINTENANCE_BATCH + 10;
  const ids = Array.from({ length: count }, (_, i) => `d${i}`);
  await write(store, ...ids.map(insert));
  await write(store, ...ids.map((id): Operation => ({ kind: "delete", collection: "c", id })));
  expect(await store.maintain()).toBe(0);
  for (const day of ["20", "40"]) {
    platform.nowMs += 20 * DAY_MS;
    await write(store, insert(day));
  }
  expect(await store.maintain()).toBeGreaterThanOrEqual(2);
  const left = store.read((snapshot) => [...snapshot.changedSince("c", 0)]);
  expect(left.map(({ id }) => id)).toEqual(["20", "40"]);
  expect(problems(storage)).toEqual([]);
});

test("[K29] a wall clock that jumped does not make the store forget", async () => {
  const { store, platform } = await openStore();
  await write(store, insert("a"));
  await write(store, { kind: "delete", collection: "c", id: "a" });
  platform.nowMs += 170 * DAY_MS;
  await expect(store.maintain()).rejects.toMatchObject({ code: "clock.ahead" });
  const { horizon, floor } = store.read((snapshot) => snapshot.head);
  expect({ horizon, floor }).toEqual({ horizon: 0, floor: 0 });
});

test("[K29] the age of a transaction counts from its arrival, not from its stamp", async () => {
  const { store, platform } = await openStore();
  await write(store, insert("a"));
  const time = timeOfMs(platform.nowMs - 20 * DAY_MS);
  const edits = [{ kind: "set", path: ["n"], value: 2 }] as const;
  const steps = [
    { time, operations: [{ kind: "update", collection: "c", id: "a", edits }] },
  ] as const;
  const digest = uploadDigest(platform, undefined, steps);
  await takeUpload(store, { site: "00000000000000aa", number: 1, digest, steps });
  platform.nowMs += 120_000;
  await write(store, insert("b"));
  expect(await store.maintain()).toBe(0);
  expect(logBounds(store)).toEqual({ floor: 0, logCount: 3 });
});

test("[D26] a store may rest for any time while its process runs", async () => {
  const { store, platform } = await openStore();
  await write(store, insert("a"));
  for (let day = 0; day < 100; day++) {
    platform.nowMs += DAY_MS;
    await store.maintain();
  }
  await write(store, insert("b"));
  expect(store.read((snapshot) => snapshot.count("c"))).toBe(2);
  // The log of heartbeats is bounded like any other.
  expect(logBounds(store).logCount).toBeLessThan(20);
});

test("a store that was never written to stays unchanged", async () => {
  const { store, platform } = await openStore();
  platform.nowMs += 10 * DAY_MS;
  expect(await store.maintain()).toBe(0);
  expect(store.read((snapshot) => snapshot.txnId)).toBe(0);
});
