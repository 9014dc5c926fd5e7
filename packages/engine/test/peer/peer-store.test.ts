import type { DocumentEntry } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { difference } from "../../src/crdt/delta.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { increment, insert, set } from "../support/document-operation.ts";
import { fieldsOf, problems } from "../support/open-store.ts";
import {
  ALL,
  entryOf,
  FILTER,
  outcomeOf,
  type PeerPair,
  peerPair,
  RIGHTS,
  reopen,
  send,
  serverWrite,
  take,
  upload,
  uploadAll,
  welcome,
  write,
} from "../support/peer-pair.ts";

test("[S34] pending writes show over the confirmed state", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1, m: 1 }));
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1, m: 1 });
  await write(pair, set("a", "n", 2));
  await serverWrite(pair, set("a", "m", 5));
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 2, m: 5 });
  expect(pair.peer.pendingCount).toBe(1);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S24] an upload has its operations as their writer knew them", async () => {
  const pair = await peerPair();
  await write(pair, insert("a", {}));
  await write(pair, increment("a", 2), { kind: "delete", collection: "c", id: "b" });
  await write(pair, { kind: "delete", collection: "c", id: "a" });
  await write(pair, insert("a", { n: 1 }));
  const [first, second, third, fourth] = await pair.peer.sequence(0, 10);
  const birth = [first?.steps[0]?.time, pair.peer.site];
  const edit = { kind: "increment", path: ["k"], by: 2, birth };
  expect(second?.steps[0]?.operations).toEqual([
    { kind: "update", collection: "c", id: "a", edits: [edit] },
  ]);
  expect(third?.steps[0]?.operations).toEqual([{ kind: "delete", collection: "c", id: "a" }]);
  expect(fourth?.steps[0]?.operations).toEqual([
    { kind: "insert", collection: "c", id: "a", fields: { n: 1 }, clean: true },
  ]);
});

test("[S35] a write leaves the pending layer with its outcome, and the view does not flicker", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  await write(pair, increment("a", 5));
  const before = pair.peer.store.txnId;
  await uploadAll(pair);
  expect(pair.peer.pendingCount).toBe(0);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1, k: 5 });
  // Nobody who observes the document hears of it.
  const since = { historyId: pair.peer.store.identity.historyId, txnId: before };
  const changes = pair.peer.store.read((snapshot) => {
    const found = snapshot.changesSince(since);
    if (found.kind !== "changes") throw new Error("expected changes");
    return [...found.transactions].flatMap(({ record }) => record.changes);
  });
  expect(changes).toEqual([]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S34] an increment that the server has but did not acknowledge counts once", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await write(pair, insert("a", {}));
  await uploadAll(pair);
  await write(pair, increment("a", 1));
  await write(pair, increment("a", 2));
  const sequenced = await pair.peer.sequence(0, 10);
  const outcomes = [];
  for (const each of sequenced) outcomes.push(await upload(pair, each));
  // The connection broke before the answers; the document comes first.
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  await take(pair, ...outcomes);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 3 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S35] a refused upload no longer shows, is kept aside and can be read", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  const commitId = await write(pair, set("a", "n", 2));
  await write(pair, set("a", "m", 3));
  const [first, second] = await pair.peer.sequence(0, 10);
  if (first === undefined || second === undefined) throw new Error("expected two uploads");
  const refusal = outcomeOf(first, "refused", 9, "no");
  const { refused } = await pair.peer.apply({ parts: [], outcomes: [refusal] });
  const [kept] = pair.peer.refused();
  expect(refused).toEqual([kept]);
  expect({ ...kept, steps: kept?.steps[0]?.operations }).toEqual({
    commitId,
    kind: "refused",
    reason: "no",
    at: pair.platform.nowMs,
    refusedAt: pair.platform.nowMs,
    steps: [set("a", "n", 2)],
  });
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1, m: 3 });
  await reopen(pair);
  expect(pair.peer.refused()).toEqual([kept]);
  expect(pair.peer.sequenced().map(({ number }) => number)).toEqual([2]);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S35] if a batch applies one write and refuses the next, only the first keeps showing", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", {}));
  await send(pair, key, "a");
  for (const by of [1, 2, 4, 8]) await write(pair, increment("a", by));
  const [first, second] = await pair.peer.sequence(0, 10);
  if (first === undefined || second === undefined) throw new Error("expected two uploads");
  // As the server foresaw it: nothing of what is behind it has to be looked at.
  await take(pair, await upload(pair, first));
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 15 });
  const taken = await upload(pair, second);
  const [third, fourth] = pair.peer.sequenced().slice(1);
  if (third === undefined || fourth === undefined) throw new Error("expected two more");
  await take(pair, taken, outcomeOf(third, "refused", 9, "no"));
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 11 });
  // Somebody else wrote meanwhile: then it is not what was foreseen.
  await serverWrite(pair, increment("a", 16));
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 27 });
  await take(pair, outcomeOf(fourth, "refused", 10, "no"));
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ k: 19 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S36] a document is forgotten with the last subscription that releases it", async () => {
  const pair = await peerPair();
  const { peer, server } = pair;
  const all = peer.subscription(ALL).key;
  const some = peer.subscription("SELECT * FROM c WHERE n > :n", { n: 0 }).key;
  await serverWrite(pair, insert("a", { n: 1 }), insert("b", { n: 1 }));
  await send(pair, all, "a", "b");
  await send(pair, some, "a");
  const [, id, version, state] = entryOf(server, "c", "a");
  if (typeof state !== "object") throw new Error("expected a state");
  await peer.apply({
    parts: [{ subscription: all, entries: [["left", id, version ?? 0, state]] }],
    outcomes: [],
  });
  expect(fieldsOf(peer.store, "c", "a")).toEqual({ n: 1 });
  await peer.apply({ parts: [{ subscription: some, entries: [["drop", id]] }], outcomes: [] });
  expect(fieldsOf(peer.store, "c", "a")).toBe(undefined);
  expect(fieldsOf(peer.store, "c", "b")).toEqual({ n: 1 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S36] a document with pending writes is released when they have outcomes", async () => {
  const pair = await peerPair();
  const { peer } = pair;
  const { key } = peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  await write(pair, set("a", "n", 2));
  await peer.apply({ parts: [{ subscription: key, entries: [], range: {} }], outcomes: [] });
  expect(fieldsOf(peer.store, "c", "a")).toEqual({ n: 2 });
  await uploadAll(pair);
  expect(fieldsOf(peer.store, "c", "a")).toBe(undefined);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S36] a locally written document that no subscription covers stays", async () => {
  const pair = await peerPair();
  await write(pair, insert("a", { n: 1 }));
  await uploadAll(pair);
  await reopen(pair);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
  expect(pair.peer.pendingCount).toBe(0);
  expect(problems(pair.storage)).toEqual([]);
});

test("[S37] EVICT forgets the confirmed state, uploads nothing, and keeps pending writes", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }), insert("b", { n: 1 }));
  await send(pair, key, "a", "b");
  await write(pair, { kind: "evict", collection: "c", id: "a" });
  expect(fieldsOf(pair.peer.store, "c", "a")).toBe(undefined);
  expect(pair.peer.pendingCount).toBe(0);
  await write(pair, increment("b", 2));
  await write(pair, { kind: "evict", collection: "c", id: "b" });
  expect(fieldsOf(pair.peer.store, "c", "b")).toBe(undefined);
  expect(pair.peer.pendingCount).toBe(1);
  expect(problems(pair.storage)).toEqual([]);
  await send(pair, key, "a", "b");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
  expect(fieldsOf(pair.peer.store, "c", "b")).toEqual({ n: 1, k: 2 });
  await uploadAll(pair);
  expect(fieldsOf(pair.peer.store, "c", "b")).toEqual({ n: 1, k: 2 });
  expect(problems(pair.storage)).toEqual([]);
});

test("[S18] the peer wants the whole document if a delta does not start from the held version", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  const subscription = key;
  await pair.peer.apply({
    parts: [],
    outcomes: [],
    completed: [{ subscription, filter: FILTER, txn: 1 }],
  });
  const entries = [["delta", "a", 9, 8, new Uint8Array()]] as const;
  const { wants } = await pair.peer.apply({ parts: [{ subscription, entries }], outcomes: [] });
  expect(wants).toEqual([{ subscription, ids: ["a"] }]);
  // Until it was complete again it is compared, whatever became of the wish.
  const { cursor } = pair.peer.subscription(ALL);
  expect(cursor?.filter).toEqual(new Uint8Array(16));
  expect(problems(pair.storage)).toEqual([]);
});

/** Uploads what is pending; its outcomes come without the documents that it wrote. */
async function uploadBare(pair: PeerPair): Promise<() => Promise<void>> {
  const [sequenced] = await pair.peer.sequence(0, 1);
  if (sequenced === undefined) throw new Error("expected a write");
  const { txn } = await upload(pair, sequenced);
  return () => take(pair, outcomeOf(sequenced, "applied", txn));
}

function report({ peer }: PeerPair, entry: DocumentEntry): Promise<unknown> {
  return peer.apply({ parts: [], outcomes: [], notices: [["c", entry]] });
}

test("[S74] changes for an ended subscription apply to held documents only (seed 22002624)", async () => {
  const pair = await peerPair();
  await write(pair, insert("a", { n: 1 }));
  const answer = await uploadBare(pair);
  await serverWrite(pair, insert("b", { n: 1 }));
  for (const id of ["a", "b"]) await report(pair, entryOf(pair.server, "c", id));
  await answer();
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
  expect(fieldsOf(pair.peer.store, "c", "b")).toBeUndefined();
  expect(problems(pair.storage)).toEqual([]);
});

test("[S28] a delta that does not start from the held version still contains the peer's own write", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1, m: 1 }));
  await send(pair, key, "a");
  await write(pair, set("a", "n", 2));
  await serverWrite(pair, set("a", "m", 5));
  const { version: base, state } = pair.server.read((view) => view.state("c", "a"));
  const answer = await uploadBare(pair);
  const after = pair.server.read((view) => view.state("c", "a"));
  const delta = stateToBytes(difference(state, after.state));
  await report(pair, ["delta", "a", after.version, base, delta]);
  await answer();
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 2, m: 1 });
  // Of which version it is was not said: the whole is taken when it comes.
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 2, m: 5 });
});

test("[S28] [S21] documents that may no longer be read are removed, unless an active subscription covers them", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  await report(pair, ["drop", "a"]);
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
  await pair.peer.release(key);
  await report(pair, ["drop", "a"]);
  expect(fieldsOf(pair.peer.store, "c", "a")).toBeUndefined();
});

test("[S39] a store accepts only servers of its own app", async () => {
  const pair = await peerPair();
  const other = { history: "h", app: "other", rights: RIGHTS, offsetMs: 0 };
  await expect(pair.peer.welcome(other)).rejects.toThrow("expected the app app");
  await welcome(pair);
});

test("[K94] own writes, their numbering and their outcomes are strict, downloads are relaxed", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  await pair.peer.behind([key]);
  expect(pair.disk.relaxedCount).toBe(2);
  await write(pair, set("a", "n", 2));
  expect(pair.disk.relaxedCount).toBe(0);
  await send(pair, key, "a");
  await pair.peer.begin(key, "compare");
  const relaxed = pair.disk.relaxedCount;
  expect(relaxed).toBeGreaterThan(0);
  await pair.peer.sequence(0, 10);
  expect(pair.disk.relaxedCount).toBe(0);
  await pair.peer.compare(key, { t: "versions", filter: FILTER, list: [], range: {} });
  expect(pair.disk.relaxedCount).toBe(1);
  await uploadAll(pair);
  expect(pair.disk.relaxedCount).toBe(0);
  expect(pair.peer.pendingCount).toBe(0);
});

test("[K94] a crash takes a document and the position that covers it together", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a", { n: 1 }));
  await send(pair, key, "a");
  const completed = [{ subscription: key, filter: FILTER, txn: pair.server.txnId }];
  await pair.peer.apply({ parts: [], outcomes: [], completed });
  expect(pair.peer.subscription(ALL).cursor).toBeDefined();
  pair.disk.crash({ relaxedLost: 2 });
  await reopen(pair, { isCrash: true });
  expect(fieldsOf(pair.peer.store, "c", "a")).toBeUndefined();
  expect(pair.peer.subscription(ALL).cursor).toBeUndefined();
  expect(problems(pair.storage)).toEqual([]);
  await welcome(pair);
  await send(pair, key, "a");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 1 });
});

test("a store that refuses writes takes what the server sends, and waiting writes keep it from that", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await write(pair, insert("a", { n: 1 }));
  await expect(pair.peer.refuseWrites(false)).rejects.toMatchObject({ code: "store.pending" });
  await write(pair, insert("b", { n: 1 }));
  await uploadAll(pair);
  await pair.peer.refuseWrites(false);
  await expect(write(pair, insert("c", {}))).rejects.toMatchObject({ code: "store.closed" });
  await serverWrite(pair, insert("d", { n: 4 }));
  await send(pair, key, "d");
  expect(fieldsOf(pair.peer.store, "c", "d")).toEqual({ n: 4 });
});
