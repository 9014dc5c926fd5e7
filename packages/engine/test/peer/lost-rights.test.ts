/**
 * What a peer lets go of when it may read less: cases that the simulator found.
 */

import type { Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { problems } from "../support/open-store.ts";
import {
  ALL,
  crashAfter,
  entryOf,
  FILTER,
  failAfter,
  type PeerPair,
  peerPair,
  reopen,
  syncUpTo,
  uploadAll,
  welcome,
} from "../support/peer-pair.ts";

const OTHER_RIGHTS = new Uint8Array([2]);

function insert(id: Value): Operation {
  return { kind: "insert", collection: "c", id, fields: { n: 1 } };
}

function change(id: Value): Operation {
  const edits = [{ kind: "set", path: ["n"], value: 2 }] as const;
  return { kind: "update", collection: "c", id, edits };
}

/** A peer that follows all, and has some. */
async function filled(...ids: Value[]): Promise<PeerPair & { readonly key: string }> {
  const pair = await peerPair();
  await welcome(pair);
  await pair.server.transact((transaction) => transaction.apply(ids.map(insert)));
  const { key } = pair.peer.subscription(ALL);
  const entries = ids.map((id) => entryOf(pair.server, "c", id));
  const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
  await pair.peer.apply({ parts: [{ subscription: key, entries, range: {} }], outcomes: [] });
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  return { ...pair, key };
}

/** The rights change, and the subscription ends before it was whole under them. */
async function ended(pair: PeerPair & { readonly key: string }): Promise<void> {
  await welcome(pair, OTHER_RIGHTS);
  await pair.peer.release(pair.key);
}

function held({ peer }: PeerPair): Value[] {
  return peer.store.read((snapshot) => [...snapshot.scanIds("c")]);
}

/** The server refuses everything that waits. */
async function refuseAll({ peer }: PeerPair): Promise<void> {
  for (const { site, number } of await peer.sequence(0, 64)) {
    const outcome = { site, number, kind: "refused", txn: 9, reason: "no", documents: [] } as const;
    await peer.apply({ parts: [], outcomes: [outcome], committed: 9 });
  }
}

test("[S71] documents that a subscription covers without permission are released, with its cursor", async () => {
  const pair = await filled("a", "b");
  const { peer, key } = pair;
  await peer.store.transact((transaction) => transaction.apply([change("b")]));
  await peer.deny(key);
  expect(held(pair)).toEqual(["b"]);
  expect(peer.subscription(ALL).cursor).toBe(undefined);
  await refuseAll(pair);
  expect(held(pair)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S21] an own document whose change is refused after a rights change does not stay", async () => {
  const pair = await peerPair();
  const { peer } = pair;
  await peer.store.transact((transaction) => transaction.apply([insert("own")]));
  await uploadAll(pair);
  await peer.store.transact((transaction) => transaction.apply([change("own")]));
  await welcome(pair, OTHER_RIGHTS);
  // It shows for as long as nobody has said what became of the change.
  expect(held(pair)).toEqual(["own"]);
  await refuseAll(pair);
  expect(held(pair)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S21] a subscription that ends before it is complete under new rights releases its documents", async () => {
  const pair = await filled("a");
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual(["a"]);
  await pair.peer.release(pair.key);
  expect(held(pair)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S21] the same holds if no one subscribes to it after a restart", async () => {
  const pair = await filled("a");
  await welcome(pair, OTHER_RIGHTS);
  await reopen(pair);
  expect(held(pair)).toEqual(["a"]);
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual([]);
});

test("[S21] the same holds for a power failure at any commit, also with a refused write (seed 14008084)", async () => {
  for (let count = 0; ; count++) {
    const pair = await filled("a", "b");
    await pair.peer.store.transact((transaction) => transaction.apply([change("b")]));
    pair.disk.holdSyncs();
    void ended(pair).catch(() => {});
    const isCrashed = await crashAfter(pair, count);
    if (!isCrashed) pair.disk.releaseSyncs();
    await reopen(pair, { isCrash: true });
    await welcome(pair, OTHER_RIGHTS);
    await refuseAll(pair);
    expect(held(pair), `after ${count} commits`).toEqual([]);
    expect(problems(pair.storage), `after ${count} commits`).toEqual([]);
    if (!isCrashed) break;
  }
});

test("[S21] the same holds whichever write the store fails at first", async () => {
  for (let count = 0; ; count++) {
    const pair = await filled("a", "b");
    await pair.peer.store.transact((transaction) => transaction.apply([change("b")]));
    const isFailed = await failAfter(pair, count, () => ended(pair));
    await ended(pair);
    await refuseAll(pair);
    expect(held(pair), `after ${count} commits`).toEqual([]);
    expect(problems(pair.storage), `after ${count} commits`).toEqual([]);
    if (!isFailed) break;
  }
});

/** One that nobody follows any more; what it covers is still there. */
async function released(): Promise<PeerPair> {
  const pair = await filled("a");
  await pair.peer.release(pair.key);
  return pair;
}

/** Whether what is held is what the subscription would go on from, now and after a restart. */
async function expectWhole(pair: PeerPair, when: string): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const { cursor } = pair.peer.subscription(ALL);
    expect(held(pair), when).toEqual(cursor === undefined ? [] : ["a"]);
    expect(problems(pair.storage), when).toEqual([]);
    await reopen(pair);
  }
}

test("[S21] the cursor is removed with the documents, whichever write the store fails at first", async () => {
  for (let count = 0; ; count++) {
    const pair = await released();
    const isFailed = await failAfter(pair, count, () => welcome(pair, OTHER_RIGHTS));
    await welcome(pair, OTHER_RIGHTS);
    expect(held(pair), `after ${count} commits`).toEqual([]);
    await expectWhole(pair, `after ${count} commits`);
    if (!isFailed) break;
  }
});

test("[S21] the documents are removed with the cursor, for a power failure at any commit, even if the rights return", async () => {
  for (let count = 0; ; count++) {
    const pair = await released();
    pair.disk.holdSyncs();
    void welcome(pair, OTHER_RIGHTS).catch(() => {});
    const isCrashed = await crashAfter(pair, count);
    if (!isCrashed) pair.disk.releaseSyncs();
    await reopen(pair, { isCrash: true });
    await welcome(pair);
    await expectWhole(pair, `after ${count} commits`);
    if (!isCrashed) break;
  }
});

test("[S21] a subscription that starts again while its documents are released starts from nothing", async () => {
  for (const letGo of [
    async (): Promise<readonly [PeerPair, () => Promise<void>]> => {
      const pair = await released();
      return [pair, () => pair.peer.rights(OTHER_RIGHTS)];
    },
    async (): Promise<readonly [PeerPair, () => Promise<void>]> => {
      const pair = await filled("a");
      await pair.peer.rights(OTHER_RIGHTS);
      return [pair, () => pair.peer.release(pair.key)];
    },
  ]) {
    for (let count = 0; ; count++) {
      const [pair, work] = await letGo();
      pair.disk.holdSyncs();
      const done = work();
      const isUnderWay = await syncUpTo(pair, count);
      const { cursor } = pair.peer.subscription(ALL);
      pair.disk.releaseSyncs();
      await done;
      expect(held(pair), `after ${count} commits`).toEqual(cursor === undefined ? [] : ["a"]);
      if (!isUnderWay) break;
    }
  }
});

test("[S21] if the store fails to release them, they are released on the next connection", async () => {
  const pair = await filled("a", "b");
  const { peer, key, disk, server } = pair;
  await peer.rights(OTHER_RIGHTS);
  disk.holdSyncs();
  const ending = peer.release(key);
  await syncUpTo(pair, 0);
  disk.failNextWrite("store.full");
  disk.syncNext();
  await syncUpTo(pair, 0);
  expect(peer.subscription(ALL)).toMatchObject({ key, collection: "c", cursor: undefined });
  disk.releaseSyncs();
  await expect(ending).rejects.toThrow("set to fail");
  await welcome(pair, OTHER_RIGHTS);
  expect(peer.subscription(ALL).cursor).toBe(undefined);
  const entries = [entryOf(server, "c", "a")];
  const completed = [{ subscription: key, filter: FILTER, txn: server.txnId }];
  await peer.apply({ parts: [{ subscription: key, entries, range: {} }], outcomes: [], completed });
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual(["a"]);
  await reopen(pair);
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
  await pair.peer.forget(key);
  expect(held(pair)).toEqual([]);
});

test("[S71] a subscription that was complete under the new rights keeps its documents when it ends", async () => {
  const pair = await filled("a");
  const { peer, key, server } = pair;
  await welcome(pair, OTHER_RIGHTS);
  const completed = [{ subscription: key, filter: FILTER, txn: server.txnId }];
  await peer.apply({ parts: [], outcomes: [], completed });
  await peer.release(key);
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual(["a"]);
});

test("[S13] an unfinished comparison leaves no cursor that claims too much", async () => {
  const pair = await filled("a", "b");
  const { peer, key } = pair;
  // Under other rights only `a` is listed; the connection breaks, and the rights are as before.
  const list = [["a", pair.server.txnId]] as const;
  await peer.compare(key, { t: "versions", filter: new Uint8Array(16).fill(8), list, range: {} });
  expect(held(pair)).toEqual(["a"]);
  const { cursor } = peer.subscription(ALL);
  expect(cursor?.filter).not.toEqual(FILTER);
  await peer.apply({
    parts: [],
    outcomes: [],
    completed: [{ subscription: key, filter: FILTER, txn: pair.server.txnId }],
  });
  expect(peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
});
