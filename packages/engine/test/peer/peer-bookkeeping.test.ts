/**
 * What a peer writes for itself is as much as it has written or followed: the bound on operations of a
 * transaction, which is for apps, is lower here so that little is more than it.
 */

import type { Operation } from "@bigpeer/protocol";
import { expect, test, vi } from "vitest";
import type * as Limits from "../../src/limits.ts";

vi.mock("../../src/limits.ts", async (original) => {
  return { ...(await original<typeof Limits>()), OPERATIONS_MAX: 200 };
});

import { authorityOf } from "../support/caller.ts";
import { type ExplainedPeer, openExplained } from "../support/explained-peer.ts";
import { turns } from "../support/open-streams.ts";

function inserts(count: number, first = 0): Operation[] {
  return Array.from({ length: count }, (_, i) => ({
    kind: "insert",
    collection: "tasks",
    id: first + i,
    fields: { n: 1 },
  }));
}

async function writeOffline({ peerStore }: ExplainedPeer, transactions: number, each: number) {
  for (let i = 0; i < transactions; i++) {
    await peerStore.store.transact((transaction) => transaction.apply(inserts(each, i * each)));
  }
}

async function uploaded({ peerStore }: ExplainedPeer): Promise<number> {
  for (let i = 0; i < 50 && peerStore.pendingCount > 0; i++) await turns(50);
  return peerStore.pendingCount;
}

test("[S30] all uploads that a restored server lacks are offered again at once, beyond the operation limit", async () => {
  const peer = await openExplained();
  await writeOffline(peer, 100, 1);
  peer.sync.start();
  expect(await uploaded(peer)).toBe(0);
  await peer.sync.stop();
  const { peerStore } = peer;
  const rights = new Uint8Array(16);
  await peerStore.welcome({ history: "restored", app: "app", rights, offsetMs: 0 });
  await peerStore.reoffer(peerStore.site, 0);
  expect(peer.peerStore.pendingCount).toBe(100);
  await peer.close();
});

test("[S78] all writes with a wrong clock are stamped again at once, beyond the operation limit", async () => {
  const peer = await openExplained();
  await writeOffline(peer, 20, 20);
  peer.platform.nowMs += 5000;
  peer.sync.start();
  expect(await uploaded(peer)).toBe(0);
  expect(peer.onServer(399)).toEqual({ n: 1 });
  await peer.close();
});

test("[S13] a comparison that lists nothing releases everything at once, beyond the operation limit", async () => {
  const authority = authorityOf({ tasks: ["n == 1"] });
  const peer = await openExplained({ authority, limits: { resumeTransactions: 0 } });
  for (let first = 0; first < 400; first += 100) {
    await peer.store.transact((transaction) => transaction.apply(inserts(100, first)));
  }
  peer.sync.start();
  const tasks = peer.sync.subscribe("SELECT * FROM tasks");
  await tasks.whenReady();
  expect(peer.onPeer(399)).toEqual({ n: 1 });
  peer.wire.shut();
  peer.wire.cut();
  for (let first = 0; first < 400; first += 100) {
    const args = { first, end: first + 100 };
    await peer.execute("UPDATE tasks SET n = 2 WHERE _id >= :first AND _id < :end", args);
  }
  await peer.wire.open();
  await peer.reconnect();
  await turns(100);
  const ids = peer.peerStore.store.read((snapshot) => [...snapshot.scanIds("tasks")]);
  expect([peer.sync.status().phase, tasks.status, ids]).toEqual(["open", "ready", []]);
  await peer.close();
});
