/**
 * The pending ids of observed results: from the write until the server has answered it.
 */
import { expect, onTestFinished, test } from "vitest";
import { type ObservedResult, openPeer, type Peer } from "../src/index.ts";
import { pendingIdsIn } from "../src/pending-ids.ts";
import { insert } from "./support/peer-status.ts";
import { startRealServer } from "./support/real-server.ts";
import { until } from "./support/turns.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

async function openAlone(): Promise<Peer> {
  const url = "http://127.0.0.1:9";
  const peer = await openPeer({ appId: APP, url, token: "bp_1", memory: true });
  onTestFinished(() => peer.close());
  return peer;
}

/** The results of an observer, as they come. */
function observe(peer: Peer, query = "SELECT * FROM tasks ORDER BY _id"): ObservedResult[] {
  const results: ObservedResult[] = [];
  // A copy has read the pending ids.
  peer.store.registerObserver(query, (result) => results.push({ ...result }));
  return results;
}

test("an observer is called when a write is made, and again when the server has answered it", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  const results = observe(peer);
  await until(() => results.length === 1);
  expect(results[0]).toEqual({ items: [], pendingIds: [] });
  await insert(peer, "a");
  await until(() => results.length === 2);
  expect(results[1]).toEqual({ items: [expect.objectContaining({ _id: "a" })], pendingIds: ["a"] });
  peer.sync.start();
  await until(() => results.at(-1)?.pendingIds.length === 0);
  expect(results).toHaveLength(3);
  expect(results[2]?.items).toEqual(results[1]?.items);
});

test("a callback that never reads pending ids is called for changed rows alone", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  let calls = 0;
  peer.store.registerObserver("SELECT * FROM tasks", () => calls++);
  await until(() => calls === 1);
  await insert(peer, "a");
  await until(() => calls === 2);
  peer.sync.start();
  const watching = observe(peer);
  await until(() => watching.at(-1)?.pendingIds.length === 0);
  expect(calls).toBe(2);
});

test("a callback that reads pending ids late gets what has changed since", async () => {
  const server = await startRealServer();
  const peer = await server.peer();
  await insert(peer, "a");
  const kept: ObservedResult[] = [];
  peer.store.registerObserver("SELECT * FROM tasks", (result) => kept.push(result));
  peer.sync.start();
  const watching = observe(peer);
  await until(() => watching.at(-1)?.pendingIds.length === 0);
  expect(kept).toHaveLength(1);
  expect(kept[0]?.pendingIds).toEqual(["a"]);
  await until(() => kept.length === 2);
  expect(kept[1]?.pendingIds).toEqual([]);
});

test("a write that leaves the row as it was makes it pending too", async () => {
  const peer = await openAlone();
  await insert(peer, "a");
  await insert(peer, "b");
  const results = observe(peer, "SELECT _id FROM tasks WHERE _id = 'a'");
  await until(() => results.length === 1);
  expect(results[0]?.pendingIds).toEqual(["a"]);
  await peer.store.execute("UPDATE tasks SET note = 'x' WHERE _id = 'b'");
  await peer.store.execute("UPDATE tasks SET note = 'x' WHERE _id = 'a'");
  await insert(peer, "c");
  // The row and its pending id stay as they were, so nothing is delivered.
  expect(results).toHaveLength(1);
});

test("only documents of the result and of its collections count, each once, in the order of rows", async () => {
  const peer = await openAlone();
  for (const id of ["b", "a", "c"]) await insert(peer, id);
  await peer.store.execute("INSERT INTO other DOCUMENTS ({'_id': 'z'})");
  const descending = observe(peer, "SELECT _id FROM tasks WHERE _id != 'c' ORDER BY _id DESC");
  const unnamed = observe(peer, "SELECT title FROM tasks");
  const grouped = observe(peer, "SELECT COUNT(*) AS _id FROM tasks");
  const joined = observe(
    peer,
    "SELECT t._id FROM tasks t JOIN other o ON o._id = 'z' ORDER BY t._id",
  );
  await until(() => [descending, unnamed, grouped, joined].every(({ length }) => length === 1));
  expect(descending[0]?.pendingIds).toEqual(["b", "a"]);
  expect(unnamed[0]?.pendingIds).toEqual([]);
  expect(grouped[0]?.pendingIds).toEqual([]);
  expect(joined[0]?.pendingIds).toEqual(["a", "b", "c"]);
});

test("an id of several parts has the form of mutatedDocumentIds", async () => {
  const peer = await openAlone();
  const id = { city: "Oslo", at: [1, 2] };
  const { mutatedDocumentIds } = await peer.store.execute("INSERT INTO tasks DOCUMENTS (:task)", {
    task: { _id: id },
  });
  const results = observe(peer);
  await until(() => results.length === 1);
  expect(results[0]?.pendingIds).toEqual(mutatedDocumentIds);
});

test("a value that is no id is not looked up", () => {
  const pending = { refresh: () => false, isEmpty: false, has: () => true };
  const rows = [{ _id: 1.5 }, { _id: null }, "text", { _id: "a" }, { _id: "a" }, {}];
  expect(pendingIdsIn(rows, ["c"], pending)).toEqual(["a"]);
});
