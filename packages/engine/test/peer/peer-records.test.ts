import type { Operation, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { PENDING_MAX } from "../../src/peer/pending.ts";
import { LiveQueries } from "../../src/query/live/live-queries.ts";
import { StatementRunner } from "../../src/query/statement-runner.ts";
import { findTransaction } from "../../src/store/change-log.ts";
import { heldKey, pendingKey, prefixRange, sequenceKey, touchKey } from "../../src/store/keys.ts";
import { COUNT_FACT, countFact } from "../../src/store/peer-records.ts";
import { dump, fieldsOf, problems } from "../support/open-store.ts";
import {
  ALL,
  FILTER,
  type PeerPair,
  peerPair,
  send,
  serverWrite,
  uploadAll,
  write,
} from "../support/peer-pair.ts";

const TOKEN = { id: "content", len: 1, metadata: {} };

function insert(id: Value, n = 1): Operation {
  return { kind: "insert", collection: "c", id, fields: { n } };
}

/** The keys of one kind, without those of the first letters. */
function keysOf(pair: PeerPair, kind: string): string[] {
  const { from, to } = prefixRange(kind);
  return [...dump(pair.storage).keys()].filter((key) => key >= from && key < to);
}

test("[K56] a confirmed state is stored next to a document exactly while a write is pending", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a"));
  await send(pair, key, "a");
  const heldA = (): Value | undefined => {
    const [at = ""] = keysOf(pair, "l");
    return dump(pair.storage).get(at);
  };
  expect(heldA()).toEqual([1, 1, [1]]);
  await write(pair, insert("a", 2));
  expect((heldA() as Value[]).slice(0, 3)).toEqual([1, 1, [1]]);
  expect((heldA() as Value[][])[3]?.[0]).toEqual({ n: 1 });
  await uploadAll(pair);
  expect(heldA()).toEqual([2, 1, [1]]);
});

test("[K57] pending transactions are limited; reads and index changes do not count as pending", async () => {
  const pair = await peerPair();
  await write(pair, insert("a"));
  await pair.peer.store.transact((transaction) => transaction.get("c", "a"));
  const keys = [{ path: ["n"], isDescending: false }];
  await write(pair, { kind: "create_index", collection: "c", name: "ix", keys });
  await write(pair, { kind: "delete", collection: "c", id: "none" });
  expect(pair.peer.pendingCount).toBe(1);
  const counts = pair.peer.store.read(({ reader }) => countFact(reader));
  const full = { ...counts, pending: PENDING_MAX };
  await write(pair, { kind: "local", key: COUNT_FACT, value: full });
  await expect(write(pair, insert("b"))).rejects.toThrow("100000 transactions wait");
  expect(fieldsOf(pair.peer.store, "c", "b")).toBe(undefined);
});

test("[K57] onPending notifies its listener of a write when the write is durable", async () => {
  const pair = await peerPair();
  let heard = 0;
  const stop = pair.peer.onPending(() => heard++);
  await write(pair, insert("a"));
  await new Promise(setImmediate);
  expect(heard).toBe(1);
  await uploadAll(pair);
  await new Promise(setImmediate);
  expect(heard).toBe(1);
  stop();
  await write(pair, insert("b"));
  await new Promise(setImmediate);
  expect(heard).toBe(1);
});

test("[K57] onPending notifies also if the store fails the next write", async () => {
  const pair = await peerPair();
  const { peer, disk } = pair;
  let heard = 0;
  peer.onPending(() => heard++);
  disk.holdSyncs();
  const first = write(pair, insert("a"));
  await new Promise(setImmediate);
  const second = write(pair, insert("b"));
  disk.failNextWrite("store.full");
  disk.releaseSyncs();
  await expect(second).rejects.toThrow("set to fail");
  await first;
  await new Promise(setImmediate);
  expect([heard, peer.pendingCount]).toEqual([1, 1]);
});

test("[K58] the log names the received documents and does not repeat their content", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a"));
  await send(pair, key, "a");
  const { txnId } = pair.peer.store;
  const record = pair.peer.store.read((snapshot) => findTransaction(snapshot, txnId));
  const operations = record?.steps.flatMap((step) => step.operations);
  expect(operations).toEqual([{ kind: "layer", collection: "c", id: "a" }]);
  expect(record?.changes).toEqual([[0, 0, null]]);
});

test("[K58] indexes, references and floors are updated by documents from the server", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  const keys = [{ path: ["n"], isDescending: false }];
  await write(pair, { kind: "create_index", collection: "c", name: "ix", keys });
  const types = { file: "attachment" } as const;
  const fields = { n: 1, file: TOKEN };
  const file: Operation = { kind: "insert", collection: "c", id: "a", fields, types };
  await serverWrite(pair, file, insert("b"));
  await send(pair, key, "a", "b");
  expect(problems(pair.storage)).toEqual([]);
  const edits = [
    { kind: "unset", path: ["file"] },
    { kind: "set", path: ["n"], value: 9 },
  ] as const;
  await serverWrite(pair, { kind: "update", collection: "c", id: "a", edits });
  await send(pair, key, "a", "b");
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 9 });
  expect(problems(pair.storage)).toEqual([]);
  await serverWrite(pair, { kind: "delete", collection: "c", id: "b" }, file);
  await send(pair, key, "a", "b");
  expect(problems(pair.storage)).toEqual([]);
});

test("[K58] later local writes have stamps above all received ones", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  await serverWrite(pair, insert("a"));
  await send(pair, key, "a");
  pair.platform.nowMs -= 1_000_000;
  await write(pair, {
    kind: "update",
    collection: "c",
    id: "a",
    edits: [{ kind: "set", path: ["n"], value: 5 }],
  });
  expect(fieldsOf(pair.peer.store, "c", "a")).toEqual({ n: 5 });
});

test("[K58] statements and live queries see the shown documents of a peer", async () => {
  const pair = await peerPair();
  const { key } = pair.peer.subscription(ALL);
  const { store } = pair.peer;
  const options = { store, platform: pair.platform, appId: "app" };
  const runner = new StatementRunner(options);
  const live = new LiveQueries(options);
  const { query } = await live.register({ statement: "SELECT _id, n FROM c WHERE n < 7" });
  expect(query.rows).toEqual([]);
  await runner.execute({ statement: "INSERT INTO c DOCUMENTS ({'_id': 'x', 'n': 7})" });
  expect(pair.peer.pendingCount).toBe(1);
  await serverWrite(pair, insert("a"));
  await send(pair, key, "a");
  const { items } = await runner.execute({ statement: "SELECT _id, n FROM c ORDER BY n" });
  expect(items).toEqual([
    { _id: "a", n: 1 },
    { _id: "x", n: 7 },
  ]);
  await live.advance();
  expect(query.rows).toEqual([{ _id: "a", n: 1 }]);
});

test("[K59] a commit of the server writes one record for all live subscriptions", async () => {
  const pair = await peerPair();
  for (let n = 0; n < 5; n++) {
    const { key } = pair.peer.subscription("SELECT * FROM c WHERE n = :n", { n });
    const completed = [{ subscription: key, filter: FILTER, txn: 1 }];
    await pair.peer.apply({ parts: [], outcomes: [], completed });
  }
  const before = dump(pair.storage);
  await pair.peer.apply({ parts: [], outcomes: [], committed: 9 });
  const changed = [...dump(pair.storage)].filter(([key, value]) => before.get(key) !== value);
  // The position, and the head and the log as with every transaction.
  expect(changed.map(([key]) => key.charAt(0)).sort()).toEqual(["h", "p", "t"]);
  const last = pair.peer.subscription("SELECT * FROM c WHERE n = :n", { n: 4 }).cursor;
  expect(last?.txn).toBe(9);
});

test("[K30] verify finds records of a peer that contradict each other", async () => {
  const damages: ((pair: PeerPair) => readonly (readonly [string, Value | undefined])[])[] = [
    () => [[heldKey(1, "nothing"), [1, 1, [1]]]],
    () => [[heldKey(7, "nothing"), [1, 1, [1]]]],
    (pair) => [[keysOf(pair, "pd")[0] ?? "", undefined]],
    (pair) => [[keysOf(pair, "pp")[0] ?? "", undefined]],
    (pair) => [[keysOf(pair, "ps")[0] ?? "", undefined]],
    (pair) => [[keysOf(pair, "l")[0] ?? "", undefined]],
    () => [[sequenceKey(3, 3), 99]],
    () => [[touchKey(1, "x", 99), true]],
    () => [["pz", true]],
    (pair) => [[COUNT_FACT, { ...(dump(pair.storage).get(COUNT_FACT) as object), refused: 5 }]],
  ];
  for (const [i, damage] of damages.entries()) {
    const pair = await peerPair();
    const number = await write(pair, insert("a"));
    await pair.peer.sequence(0, 1);
    expect(dump(pair.storage).has(pendingKey(number))).toBe(true);
    expect(problems(pair.storage)).toEqual([]);
    await pair.storage.commit(new Map(damage(pair)));
    expect(problems(pair.storage).length, `damage ${i}`).toBeGreaterThan(0);
  }
});

test("[S35] the position of the server, and refused writes, can be read as rows", async () => {
  const pair = await peerPair();
  const session = { id: "server", status: "Connected" } as const;
  const commitId = await write(pair, insert("a"));
  const rows = (): unknown => pair.peer.syncInfoRows(session);
  expect(rows()).toEqual([
    {
      id: "server",
      fields: {
        is_ditto_server: true,
        documents: {
          sync_session_status: "Connected",
          synced_up_to_local_commit_id: commitId - 1,
          last_update_received_time: null,
        },
      },
    },
  ]);
  const [sequenced] = await pair.peer.sequence(0, 1);
  if (sequenced === undefined) throw new Error("expected an upload");
  const { site, number } = sequenced;
  const outcome = { site, number, kind: "stale", txn: 1, reason: "", documents: [] } as const;
  await pair.peer.apply({ parts: [], outcomes: [outcome] });
  const [row] = pair.peer.syncInfoRows(session);
  expect(row?.fields["documents"]).toEqual({
    sync_session_status: "Connected",
    synced_up_to_local_commit_id: pair.peer.store.txnId,
    last_update_received_time: pair.platform.nowMs,
  });
  expect(pair.peer.refusedRows()).toEqual([
    {
      id: commitId,
      fields: {
        kind: "stale",
        reason: "",
        written_time: pair.platform.nowMs,
        refused_time: pair.platform.nowMs,
        operations: [insert("a")],
      },
    },
  ]);
  expect(problems(pair.storage)).toEqual([]);
});
