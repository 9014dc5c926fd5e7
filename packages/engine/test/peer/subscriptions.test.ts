import type { Operation, Value, Versions } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { SUBSCRIPTIONS_MAX } from "../../src/peer/subscriptions.ts";
import { dump, fieldsOf, problems } from "../support/open-store.ts";
import {
  ALL,
  APP,
  entryOf,
  FILTER,
  type PeerPair,
  peerPair,
  RIGHTS,
  reopen,
  send,
  uploadAll,
  welcome,
} from "../support/peer-pair.ts";

const SOME = "SELECT * FROM c WHERE n > :n";
const OTHER_RIGHTS = new Uint8Array([2]);

function insert(id: Value): Operation {
  return { kind: "insert", collection: "c", id, fields: { n: 1 } };
}

async function fill(pair: PeerPair, key: string, ...ids: Value[]): Promise<void> {
  const entries = ids.map((id) => entryOf(pair.server, "c", id));
  const parts = [{ subscription: key, entries, range: {} }];
  const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
  await pair.peer.apply({ parts, outcomes: [] });
  await pair.peer.apply({ parts: [], outcomes: [], completed });
}

async function filled(...ids: Value[]): Promise<PeerPair & { readonly key: string }> {
  const pair = await peerPair();
  await pair.server.transact((transaction) => transaction.apply(ids.map(insert)));
  const { key } = pair.peer.subscription(ALL);
  await fill(pair, key, ...ids);
  return { ...pair, key };
}

function held(pair: PeerPair): Value[] {
  return pair.peer.store.read((snapshot) => [...snapshot.scanIds("c")]);
}

test("[S11] a cursor starts with `complete`, moves with `committed`, and survives a restart", async () => {
  const pair = await peerPair();
  const history = pair.server.identity.historyId;
  const { key, cursor, collection } = pair.peer.subscription(SOME, { n: 1 });
  expect([cursor, collection]).toEqual([undefined, "c"]);
  expect(pair.peer.subscription(SOME, { n: 1 }).key).toBe(key);
  expect(pair.peer.subscription(SOME, { n: 2 }).key).not.toBe(key);
  await pair.peer.apply({ parts: [], outcomes: [], committed: 7 });
  const completed = [{ subscription: key, filter: FILTER, txn: 8 }];
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  expect(pair.peer.subscription(SOME, { n: 1 }).cursor).toEqual({
    history,
    filter: FILTER,
    txn: 8,
  });
  await pair.peer.apply({ parts: [], outcomes: [], committed: 20 });
  await reopen(pair);
  expect(pair.peer.subscription(SOME, { n: 1 })).toMatchObject({
    key,
    collection: "c",
    cursor: { history, filter: FILTER, txn: 20 },
  });
  // On the next connection others may be live before it is.
  await welcome(pair);
  await pair.peer.apply({ parts: [], outcomes: [], committed: 30 });
  expect(pair.peer.subscription(SOME, { n: 1 }).cursor?.txn).toBe(20);
});

test("[S22] the cursor of a subscription that is behind does not move", async () => {
  const pair = await filled("a");
  const { peer, key } = pair;
  await peer.apply({ parts: [], outcomes: [], committed: 50 });
  await peer.behind([key]);
  await peer.apply({ parts: [], outcomes: [], committed: 60 });
  expect(peer.subscription(ALL).cursor?.txn).toBe(50);
});

test("[S14] documents that a fill does not list in its range are released", async () => {
  const pair = await filled("a", "b", "d", "e");
  const range = { after: "a", through: "d" };
  const entries = [entryOf(pair.server, "c", "b")];
  await pair.peer.apply({ parts: [{ subscription: pair.key, entries, range }], outcomes: [] });
  expect(held(pair)).toEqual(["a", "b", "e"]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S13] a compare wants documents whose version is not held, and releases those not listed", async () => {
  const pair = await filled("a", "b", "c", "d");
  await pair.server.transact((transaction) => {
    transaction.apply([{ kind: "delete", collection: "c", id: "c" }, insert("e")]);
    transaction.apply([
      { kind: "update", collection: "c", id: "b", edits: [{ kind: "unset", path: ["n"] }] },
    ]);
  });
  const list = pair.server.read((snapshot) =>
    [...snapshot.scanIds("c")].map((id) => [id, snapshot.version("c", id)] as const),
  );
  const versions: Versions = { t: "versions", filter: FILTER, list, range: {} };
  expect(await pair.peer.compare(pair.key, versions)).toEqual(["b", "e"]);
  expect(held(pair)).toEqual(["a", "b", "d"]);
  await send(pair, pair.key, "b", "e");
  expect(held(pair)).toEqual(["a", "b", "d", "e"]);
  expect(await pair.peer.compare(pair.key, versions)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S17] the tombstone of a deleted document stays, so that an insert starts clean", async () => {
  const pair = await filled("a");
  await pair.server.transact((transaction) => {
    transaction.apply([{ kind: "delete", collection: "c", id: "a" }]);
  });
  await send(pair, pair.key, "a");
  expect(held(pair)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
  await pair.peer.store.transact((transaction) => transaction.apply([insert("a")]));
  const [sequenced] = await pair.peer.sequence(0, 1);
  expect(sequenced?.steps[0]?.operations).toEqual([{ ...insert("a"), clean: true }]);
  await uploadAll(pair);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S17] a tombstone and its held record are removed at the horizon of the peer", async () => {
  const pair = await filled("a", "b");
  await pair.server.transact((transaction) => {
    transaction.apply([{ kind: "delete", collection: "c", id: "a" }]);
  });
  await send(pair, pair.key, "a");
  const keys = [...dump(pair.storage).keys()].filter((key) => key.startsWith("l"));
  pair.platform.nowMs += 40 * 86_400_000;
  await pair.peer.store.transact((transaction) => transaction.apply([insert("x")]));
  await pair.peer.maintain();
  const left = [...dump(pair.storage).keys()].filter((key) => key.startsWith("l"));
  // One is gone, and one was written.
  expect([keys.length, left.length]).toEqual([2, 2]);
  expect(problems(pair.storage)).toEqual([]);
  expect(held(pair)).toEqual(["b", "x"]);
});

test("[S21] a subscription that ended keeps its documents and its cursor", async () => {
  const pair = await filled("a");
  const { cursor } = pair.peer.subscription(ALL);
  await pair.peer.release(pair.key);
  await pair.peer.apply({ parts: [], outcomes: [], committed: 99 });
  await reopen(pair);
  await welcome(pair);
  expect(held(pair)).toEqual(["a"]);
  expect(pair.peer.subscription(ALL).cursor).toEqual(cursor);
});

test("[S71] when rights change, documents that no active subscription covers are released, with cursors", async () => {
  const pair = await filled("a", "b");
  const { peer, key } = pair;
  const some = peer.subscription(SOME, { n: 0 }).key;
  await fill(pair, some, "a");
  await peer.store.transact((transaction) => transaction.apply([insert("own"), insert("mine")]));
  await uploadAll(pair);
  const change: Operation = {
    kind: "update",
    collection: "c",
    id: "mine",
    edits: [{ kind: "set", path: ["n"], value: 2 }],
  };
  await peer.store.transact((transaction) => transaction.apply([change]));
  await peer.release(key);
  await welcome(pair);
  expect(held(pair)).toEqual(["a", "b", "mine", "own"]);
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual(["a", "mine"]);
  expect(peer.subscription(ALL).cursor).toBe(undefined);
  expect(peer.subscription(SOME, { n: 0 }).cursor?.filter).toEqual(FILTER);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S21] an interrupted sweep is done again", async () => {
  const ids = Array.from({ length: 2500 }, (_, i) => i);
  const pair = await filled(...ids);
  await pair.peer.release(pair.key);
  pair.disk.holdSyncs();
  const swept = welcome(pair, OTHER_RIGHTS).catch(() => {});
  // The connection's own record, the cursors, and a part of the documents.
  for (let synced = 0; synced < 3; ) {
    await new Promise(setImmediate);
    if (pair.disk.syncNext()) synced++;
  }
  pair.disk.crash();
  pair.disk.releaseSyncs();
  await reopen(pair, { isCrash: true });
  expect(held(pair).length).toBe(1500);
  expect(problems(pair.storage)).toEqual([]);
  await welcome(pair, OTHER_RIGHTS);
  expect(held(pair)).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
  void swept;
});

test("[S38] on a new history versions mean nothing and every subscription starts over", async () => {
  const pair = await filled("a", "b");
  await pair.peer.welcome({ history: "other", app: APP, rights: RIGHTS, offsetMs: 0 });
  expect(pair.peer.subscription(ALL).cursor).toBe(undefined);
  expect(held(pair)).toEqual(["a", "b"]);
  const [, id, , state] = entryOf(pair.server, "c", "a");
  if (!Array.isArray(state)) throw new Error("expected a state");
  const fields = { n: 5 };
  const entries = [["put", id, 1, [fields, state[1], state[2]]]] as const;
  const part = { subscription: pair.key, entries, range: {} };
  await pair.peer.apply({ parts: [part], outcomes: [] });
  expect(held(pair)).toEqual(["a"]);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 5 });
  expect(problems(pair.storage)).toEqual([]);
});

test.runIf(isFullSize)(
  "[S21] a peer remembers a limited number of ended subscriptions, and loses track of no documents",
  async () => {
    const pair = await filled("a", "b");
    await pair.peer.release(pair.key);
    for (let n = 0; n < SUBSCRIPTIONS_MAX; n++) {
      const { key } = pair.peer.subscription(SOME, { n });
      if (n > 0) continue;
      await fill(pair, key, "a");
    }
    await welcome(pair);
    expect(held(pair)).toEqual(["a"]);
    expect(pair.peer.subscription(ALL).cursor).toBe(undefined);
    expect(problems(pair.storage)).toEqual([]);
  },
);

async function evict(pair: PeerPair, ...ids: Value[]): Promise<void> {
  await pair.peer.store.transact((transaction) =>
    transaction.apply(ids.map((id) => ({ kind: "evict", collection: "c", id }))),
  );
}

/** What the server tells of versions in a compare of all that it has. */
async function compare(pair: PeerPair, key: string): Promise<readonly Value[]> {
  const list = pair.server.read((snapshot) =>
    [...snapshot.scanIds("c")].map((id) => [id, snapshot.version("c", id)] as const),
  );
  return pair.peer.compare(key, { t: "versions", filter: FILTER, list, range: {} });
}

test("[S37] subscriptions that covered an evicted document compare when they continue", async () => {
  const pair = await filled("a", "b");
  const { peer, key } = pair;
  const some = peer.subscription(SOME, { n: 0 }).key;
  await fill(pair, some, "b");
  await evict(pair, "a");
  await reopen(pair, { isCrash: true });
  await welcome(pair);
  // It goes on where it was, but by a filter that no server has.
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(new Uint8Array(16));
  expect(pair.peer.subscription(SOME, { n: 0 }).cursor?.filter).toEqual(FILTER);
  await pair.peer.begin(key, "compare");
  expect(await compare(pair, key)).toEqual(["a"]);
  await send(pair, key, "a");
  const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  expect(held(pair)).toEqual(["a", "b"]);
  expect(pair.peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S37] an eviction while a stream is under way is not forgotten when the stream completes", async () => {
  const pair = await filled("a", "b");
  const { peer, key } = pair;
  for (const mode of ["compare", "fill"] as const) {
    await peer.begin(key, mode);
    await fill(pair, key, "a", "b");
    await peer.begin(key, mode);
    await evict(pair, "a");
    const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
    await peer.apply({ parts: [], outcomes: [], completed });
    expect(peer.subscription(ALL).cursor?.filter).toEqual(new Uint8Array(16));
  }
  // What no subscription covered leaves no hole.
  await peer.begin(key, "fill");
  await fill(pair, key, "a", "b");
  await peer.store.transact((transaction) => transaction.apply([insert("own")]));
  await evict(pair, "own");
  expect(peer.subscription(ALL).cursor?.filter).toEqual(FILTER);
});
