import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { MAINTENANCE_BATCH } from "../../src/limits.ts";
import { DEFAULT_RETENTION } from "../../src/store/maintenance.ts";
import type { Store } from "../../src/store/store.ts";
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

test("[K29] the log keeps what is young enough", async () => {
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

test("[K29] tombstones go after the horizon, in bounded transactions", async () => {
  const { store, platform, storage } = await openStore();
  const count = MAINTENANCE_BATCH + 10;
  const ids = Array.from({ length: count }, (_, i) => `d${i}`);
  await write(store, ...ids.map(insert));
  await write(store, ...ids.map((id): Operation => ({ kind: "delete", collection: "c", id })));
  expect(await store.maintain()).toBe(0);
  platform.nowMs += 31 * DAY_MS;
  expect(await store.maintain()).toBeGreaterThanOrEqual(2);
  expect(store.read((snapshot) => [...snapshot.changedSince("c", 0)])).toEqual([]);
  expect(problems(storage)).toEqual([]);
});
