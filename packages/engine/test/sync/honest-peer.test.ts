/**
 * Peers and links that mean well and are large: no bound against others may keep them from going on.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { type ExplainedPeer, openExplained } from "../support/explained-peer.ts";
import { follow, linkedStore, settled, shown } from "../support/linked-stores.ts";
import { turns } from "../support/open-streams.ts";

function inserts(collection: string, count: number, stores: number): Operation[] {
  return Array.from({ length: count }, (_, id) => ({
    kind: "insert",
    collection,
    id,
    fields: { n: id % 7, store: `store-${id % stores}` },
  }));
}

function countOf({ peerStore }: ExplainedPeer): number {
  return peerStore.store.read((snapshot) => [...snapshot.scanIds("tasks")].length);
}

test("[S9] a subscription that no server could read is refused at once, and the peer continues", async () => {
  const peer = await openExplained();
  peer.sync.start();
  await turns();
  const cells = Array.from({ length: 100_000 }, (_, i) => [i % 200, i % 23]);
  const query = "SELECT * FROM tasks WHERE array_contains(:cells, at)";
  expect(() => peer.sync.subscribe(query, { cells })).toThrow(
    "expected fewer lists, objects and binary values in arguments of",
  );
  const text = "t".repeat(17_000_000);
  expect(() => peer.sync.subscribe("SELECT * FROM tasks WHERE t = :text", { text })).toThrow(
    "bytes of a query with its arguments, found 170000",
  );
  await peer.write("INSERT INTO tasks VALUES ({'_id': 'x', 'n': 1})");
  await turns();
  expect([peer.sync.status().phase, peer.peerStore.pendingCount]).toEqual(["open", 0]);
  await peer.close();
});

test.runIf(isFullSize)(
  "a subscription to one of thousands of values receives a transaction of many documents",
  async () => {
    const peer = await openExplained();
    peer.sync.start();
    const stores = Array.from({ length: 2000 }, (_, i) => `store-${i}`);
    const tasks = peer.sync.subscribe("SELECT * FROM tasks WHERE store IN :stores", { stores });
    await tasks.whenReady();
    await peer.store.transact((transaction) => transaction.apply(inserts("tasks", 10_000, 5000)));
    for (let i = 0; i < 20 && countOf(peer) === 0; i++) await turns(50);
    expect([tasks.status, countOf(peer)]).toEqual(["ready", 4000]);
    await peer.close();
  },
);

test("a link follows a filter that is expensive to evaluate, however much is written at once", async () => {
  const a = await linkedStore("a", { streams: { workAtOnce: 1000, workPerSecond: 1 } });
  const b = await linkedStore("b");
  const list = Array.from({ length: 200 }, (_, i) => `'store-${i}'`).join(", ");
  const wire = follow(b, a, { queries: { cars: [`ANY x IN [${list}] SATISFIES x = store END`] } });
  await settled([a, b], [wire]);
  await a.store.transact((transaction) => transaction.apply(inserts("cars", 1000, 500)));
  await expect
    .poll(async () => {
      await settled([a, b], [wire]);
      return Object.keys(shown(b)).length;
    })
    .toBe(400);
  expect(wire.dial.heard.filter(({ t }) => t === "unsubscribed")).toEqual([]);
});
