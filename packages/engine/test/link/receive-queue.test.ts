/**
 * The line of what came and is not merged: its order, its bytes, and who waits for it.
 */

import { expect, test } from "vitest";
import { FollowedQuery } from "../../src/link/followed-query.ts";
import type { Arrival } from "../../src/link/link-batch.ts";
import { ReceiveQueue } from "../../src/link/receive-queue.ts";

const LIMITS = { batchDocuments: 1000, batchBytes: 1000 };

function query(id: number): FollowedQuery {
  return new FollowedQuery(id, { collection: "cars", condition: `n == ${id}` }, "a", `key${id}`);
}

function arrival(...queries: FollowedQuery[]): Arrival {
  return { queries, collection: "cars", merges: [], ids: [], isPiece: false, bytes: 10 };
}

/** Whether it has resolved by now. */
async function hasCome(promise: Promise<void>): Promise<boolean> {
  let isOver = false;
  void promise.then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return isOver;
}

test("[S54] `settled` waits for everything received before the call to be merged, not for later arrivals", async () => {
  const line = new ReceiveQueue();
  expect(await hasCome(line.settled())).toBe(true);
  line.push([arrival(query(1))], [], 0);
  const first = line.take(LIMITS, false);
  line.push([arrival(query(1))], [], 0);
  const settled = line.settled();
  const second = line.take(LIMITS, true);
  line.push([arrival(query(1))], [], 0);
  line.merged(second);
  expect([await hasCome(settled), line.openBehind([]), line.bytes]).toEqual([false, 1, 20]);
  line.merged(first);
  expect([await hasCome(settled), line.openBehind([]), line.bytes]).toEqual([true, 3, 10]);
});

test("[S54] when the queue ends, `settled` resolves, and waiting changes do not count", async () => {
  const line = new ReceiveQueue();
  line.push([arrival(query(1))], [], 0);
  const settled = line.settled();
  line.end();
  expect([await hasCome(settled), await hasCome(line.settled())]).toEqual([true, true]);
  expect([line.isEmpty, line.bytes, line.openBehind([])]).toEqual([true, 0, 1]);
});

test("[S51] a query is bringing documents while they wait or are being merged", () => {
  const line = new ReceiveQueue();
  const one = query(1);
  line.push([arrival(one)], [], 0);
  expect([line.isBringing(query(1).name), line.isBringing(query(2).name)]).toEqual([true, false]);
  const batch = line.take(LIMITS, false);
  expect(line.isBringing(one.name)).toBe(true);
  line.merged(batch);
  expect(line.isBringing(one.name)).toBe(false);
});

test("[S52] when a query is released, changes that also wait for other queries stay", () => {
  const line = new ReceiveQueue();
  const [one, two] = [query(1), query(2)];
  line.push([arrival(one), arrival(one, two)], [{ query: one, txn: 5 }], 0);
  line.release(new Set([one]));
  expect(line.bytes).toBe(10);
  const [batch] = line.take(LIMITS, false);
  expect(batch?.arrivals.map(({ queries }) => queries)).toEqual([[two]]);
  expect(batch?.reached).toEqual([]);
});

test("[S52] changes that were refused as a batch are merged one by one, in order", () => {
  const line = new ReceiveQueue();
  for (let i = 0; i < 3; i++) line.push([arrival(query(i))], [], 0);
  const batch = line.take(LIMITS, false);
  line.putBackApart(batch);
  line.push([arrival(query(4))], [], 0);
  line.push([arrival(query(5))], [], 0);
  const orders = Array.from({ length: 4 }, () =>
    line.take(LIMITS, false).map(({ order }) => order),
  );
  expect(orders).toEqual([[1], [2], [3], [4, 5]]);
  expect(line.bytes).toBe(50);
});
