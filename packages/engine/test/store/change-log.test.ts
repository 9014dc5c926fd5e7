import type { Operation, Value, ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { histories } from "../../../protocol/test/support/test-size.ts";
import { merge } from "../../src/crdt/merge.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import {
  deltaSince,
  imageBefore,
  type LoggedTransaction,
  operationOfChange,
} from "../../src/store/change-log.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore } from "../support/open-store.ts";
import { seededRandom } from "../support/test-platform.ts";
import { randomOperation } from "../support/workload.ts";

async function apply(store: Store, ...operations: Operation[]): Promise<number> {
  return (await store.transact((transaction) => transaction.apply(operations))).txnId;
}

function logged(store: Store, after: number): LoggedTransaction[] {
  return store.read((snapshot) => {
    const cursor = { historyId: store.identity.historyId, txnId: after };
    const changes = snapshot.changesSince(cursor);
    if (changes.kind !== "changes") throw new Error(changes.reason);
    return [...changes.transactions];
  });
}

function insert(id: string): Operation {
  return { kind: "insert", collection: "c", id, fields: { n: 1 } };
}

test("[K25] a cursor is answered with the transactions after it", async () => {
  const { store } = await openStore();
  for (const id of ["a", "b", "c"]) await apply(store, insert(id));
  expect(logged(store, 0).map(({ txnId }) => txnId)).toEqual([1, 2, 3]);
  expect(logged(store, 2).map(({ txnId }) => txnId)).toEqual([3]);
  expect(logged(store, 3)).toEqual([]);
});

test("[K25] a cursor of another history, below the log start or ahead gets an answer with the reason", async () => {
  const { store } = await openStore();
  for (const id of ["a", "b", "c"]) await apply(store, insert(id));
  await apply(store, { kind: "trim", upTo: 2 });
  const { historyId } = store.identity;
  const reasons = store.read((snapshot) =>
    [
      { historyId: "another", txnId: 3 },
      { historyId, txnId: 1 },
      { historyId, txnId: 2 },
      { historyId, txnId: 99 },
    ].map((cursor) => {
      const answer = snapshot.changesSince(cursor);
      return answer.kind === "rebase" ? `${answer.reason} ${answer.logStart}` : answer.kind;
    }),
  );
  expect(reasons).toEqual(["history 2", "floor 2", "changes", "ahead 2"]);
});

test("[K25] old values in the log reconstruct every earlier shown state", async () => {
  for (let seed = 1; seed <= histories(300); seed++) {
    const random = seededRandom(seed);
    const { store } = await openStore();
    const states: Map<string, ValueObject>[] = [shownDocuments(store)];
    for (let i = 0; i < 8; i++) {
      const operations = [randomOperation(random), randomOperation(random)];
      const before = store.read((snapshot) => snapshot.txnId);
      await store.transact((transaction) => operations.map((each) => transaction.apply([each])));
      if (store.read((snapshot) => snapshot.txnId) > before) states.push(shownDocuments(store));
    }
    const current = new Map(shownDocuments(store));
    for (const { record } of logged(store, 0).toReversed()) {
      expect(current, `seed ${seed}`).toEqual(states.pop());
      for (const change of record.changes) {
        const operation = operationOfChange(record, change);
        const name = documentName(operation.collection, operation.id);
        const before = imageBefore(change[2], current.get(name));
        if (before === undefined) current.delete(name);
        else current.set(name, before);
      }
    }
    expect(current, `seed ${seed}`).toEqual(new Map());
  }
});

function documentName(collection: string, id: Value): string {
  return `${collection} ${JSON.stringify(id)}`;
}

function shownDocuments(store: Store): Map<string, ValueObject> {
  return store.read((snapshot) => {
    const shown = new Map<string, ValueObject>();
    for (const collection of snapshot.collections()) {
      for (const { id, fields } of snapshot.scan(collection)) {
        shown.set(documentName(collection, id), fields);
      }
    }
    return shown;
  });
}

test("[D18] the delta since a version, merged into that version, gives the current state", async () => {
  let deltas = 0;
  for (let seed = 1; seed <= histories(300); seed++) {
    const random = seededRandom(seed);
    const { store } = await openStore();
    const id = "a";
    const held = [store.read((snapshot) => snapshot.state("cars", id))];
    for (let i = 0; i < 8; i++) {
      await apply(store, { ...randomOperation(random), collection: "cars", id });
      held.push(store.read((snapshot) => snapshot.state("cars", id)));
    }
    const now = held.at(-1);
    for (const { state, version } of held) {
      const delta = store.read((snapshot) =>
        deltaSince(snapshot, store.identity.site, { collection: "cars", id }, version),
      );
      const merged = delta.kind === "full" ? delta.state : merge(state, delta.state);
      if (delta.kind === "delta") deltas++;
      expect(delta.version).toBe(now?.version);
      expect(stateToBytes(merged), `seed ${seed}`).toEqual(now && stateToBytes(now.state));
    }
  }
  expect(deltas).toBeGreaterThan((5 * histories(300)) / 3);
});

test("[D21] a version that the log no longer reaches is answered with the whole state", async () => {
  const { store } = await openStore();
  const set = (value: number): Operation => ({
    kind: "update",
    collection: "c",
    id: "a",
    edits: [{ kind: "set", path: ["n"], value }],
  });
  await apply(store, insert("a"));
  await apply(store, set(2));
  await apply(store, set(3));
  const kindFrom = (version: number): string =>
    store.read(
      (snapshot) =>
        deltaSince(snapshot, store.identity.site, { collection: "c", id: "a" }, version).kind,
    );
  expect([1, 2, 3].map(kindFrom)).toEqual(["delta", "delta", "delta"]);
  await apply(store, { kind: "trim", upTo: 2 });
  expect([1, 2, 3].map(kindFrom)).toEqual(["full", "delta", "delta"]);
  expect(kindFrom(0)).toBe("full");
});
