import type { Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import { finish } from "../../../src/query/frame/steps.ts";
import {
  CHANGED_DOCUMENTS_MAX,
  changedDocuments,
  changeOf,
  type DocumentChange,
} from "../../../src/query/live/document-change.ts";
import { DEFAULT_RETENTION } from "../../../src/store/maintenance.ts";
import type { Store, StoreSnapshot } from "../../../src/store/store.ts";
import { openStore } from "../../support/open-store.ts";
import { anyWrite, openFollowed } from "./followed-store.ts";

function read(snapshot: StoreSnapshot, store: Store, txnId: number, wanted?: string) {
  const cursor = { historyId: store.identity.historyId, txnId };
  return finish(
    changedDocuments(snapshot, cursor, (name) => wanted === undefined || name === wanted),
  );
}

/** Undefined when the changes cannot be told. */
function changesAfter(store: Store, txnId: number, wanted?: string): DocumentChange[] | undefined {
  return store.read((snapshot) =>
    read(snapshot, store, txnId, wanted)?.map((document) => changeOf(document, snapshot)),
  );
}

function shownIn(snapshot: StoreSnapshot): Map<string, Value> {
  const shown = new Map<string, Value>();
  for (const collection of ["things", "others"]) {
    for (const { id, fields } of snapshot.scan(collection)) {
      shown.set(`${collection} ${JSON.stringify(id)}`, fields);
    }
  }
  return shown;
}

test("several transactions are combined into one change of each document", async () => {
  const { store, execute } = await openFollowed();
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 1})");
  const { txnId } = store;
  await execute("UPDATE c SET n = 2 WHERE _id = 'a'");
  await execute("UPDATE c SET m = 3 WHERE _id = 'a'");
  await execute("DELETE FROM c WHERE _id = 'b'");
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'c', 'n': 1})");
  await execute("DELETE FROM c WHERE _id = 'c'");
  const reported = changesAfter(store, txnId)?.map(({ id, before, after }) => {
    return [id, before?.fields, after?.fields];
  });
  expect(reported).toEqual([
    ["a", { n: 1 }, { n: 2, m: 3 }],
    ["b", { n: 1 }, undefined],
    ["c", undefined, undefined],
  ]);
});

test("only changes of wanted collections are listed, with the last transaction", async () => {
  const { store, execute } = await openFollowed();
  await execute("INSERT INTO c DOCUMENTS ({'_id': 'a'})");
  await execute("INSERT INTO d DOCUMENTS ({'_id': 'a'})");
  await execute("UPDATE d SET n = 1");
  const found = changesAfter(store, 0, "d");
  expect(found?.map(({ collection, txnId }) => [collection, txnId])).toEqual([["d", 3]]);
});

test("a log that starts too late, another history and too many changes each have a result of their own", async () => {
  const retention = { ...DEFAULT_RETENTION, logCount: 0 };
  const { store } = await openStore({ retention });
  const insert = (id: number) =>
    store.transact((transaction) =>
      transaction.apply([{ kind: "insert", collection: "c", id, fields: {} }]),
    );
  await insert(1);
  const { txnId } = store;
  await insert(2);
  await store.maintain();
  expect(changesAfter(store, 0)).toBeUndefined();
  const last = store.txnId;
  expect(changesAfter(store, last)).toEqual([]);
  expect(txnId).toBeLessThan(last);
  const other = { historyId: "another", txnId: last };
  const foreign = store.read((view) => finish(changedDocuments(view, other, () => true)));
  expect(foreign).toBeUndefined();
  await store.transact((transaction) =>
    transaction.apply(
      Array.from({ length: CHANGED_DOCUMENTS_MAX + 1 }, (_, i) => {
        return { kind: "insert", collection: "c", id: `n${i}`, fields: {} } as const;
      }),
    ),
  );
  expect(changesAfter(store, last)).toBeUndefined();
});

test("the changes between two states are their difference, whatever happened in between", async () => {
  const rounds = fc.array(anyWrite(), { minLength: 2, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(rounds, fc.nat(100), async (writes, at) => {
      const followed = await openFollowed();
      const { store } = followed;
      const split = at % writes.length;
      for (const write of writes.slice(0, split)) await write(followed, ARGS);
      const old = store.snapshot();
      for (const write of writes.slice(split)) await write(followed, ARGS);
      const now = shownIn(store.snapshot());
      const state = shownIn(old);
      for (const { collection, id, before, after } of changesAfter(store, old.txnId) ?? []) {
        const name = `${collection} ${JSON.stringify(id)}`;
        expect(before?.fields).toEqual(state.get(name));
        expect(after?.fields).toEqual(now.get(name));
        if (after === undefined) state.delete(name);
        else state.set(name, after.fields);
      }
      expect(state).toEqual(now);
    }),
    { numRuns: histories(60) },
  );
});

const ARGS = { number: 1, text: "a", list: [1], texts: ["a"], flag: true, id: "d0", object: {} };
