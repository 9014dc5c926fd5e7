import { type Operation, timeOfMs, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { deltaOf } from "../../src/crdt/edit.ts";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { transactionKey } from "../../src/store/keys.ts";
import type { Transaction } from "../../src/store/transaction.ts";
import { dump, fieldsOf, openStore, problems } from "../support/open-store.ts";
import { START_MS } from "../support/test-platform.ts";

async function apply(...operations: unknown[]): Promise<unknown> {
  const { store } = await openStore();
  const { result } = await store.transact((transaction) =>
    transaction.apply(operations as Operation[]),
  );
  return result;
}

function insert(fields: unknown, id: unknown = "a", collection: unknown = "c"): unknown {
  return { kind: "insert", collection, id, fields };
}

test("[V7] data that is not a value is refused with its place, and nothing is written", async () => {
  const { store, storage } = await openStore();
  const before = dump(storage);
  for (const [fields, place] of [
    [{ a: { b: [1, undefined] } }, "fields.a.b[1]"],
    [{ a: "\ud800" }, "fields.a"],
    [{ a: 2n ** 70n }, "fields.a"],
    [{ a: new Date(0) }, "fields.a"],
    [{ a: () => 1 }, "fields.a"],
  ] as const) {
    const refused = store.transact((transaction) =>
      transaction.apply([insert(fields) as Operation]),
    );
    await expect(refused).rejects.toMatchObject({ code: "value.invalid", at: place });
  }
  expect(dump(storage)).toEqual(before);
});

test("[V2] integers are stored in their canonical form", async () => {
  const { store } = await openStore();
  await store.transact((transaction) =>
    transaction.apply([insert({ small: 5n, large: 2n ** 62n, deep: [7n] }) as Operation]),
  );
  expect(fieldsOf(store, "c", "a")).toEqual({ small: 5, large: 2n ** 62n, deep: [7] });
});

test("names and fields of a wrong type are refused with the expected one", async () => {
  await expect(apply(insert({}, "a", ""))).rejects.toThrow("expected the name of a collection");
  await expect(apply(insert({}, "a", "x".repeat(257)))).rejects.toThrow("at most 256 characters");
  await expect(apply(insert([1]))).rejects.toThrow("expected an object at fields");
  await expect(apply(insert({}, { a: 1.5 }))).rejects.toThrow("found the float 1.5 at _id.a");
  await expect(apply(insert({}, "x".repeat(2000)))).rejects.toThrow("at most 1024 bytes");
});

test("[D7] a counter takes integers only, a PN-counter any number", async () => {
  const typed = (value: Value, type: string): unknown => ({
    ...(insert({ k: value }) as object),
    types: { k: type },
  });
  await expect(apply(typed(1.5, "counter"))).rejects.toMatchObject({ code: "operation.invalid" });
  await expect(apply(typed("1", "counter"))).rejects.toMatchObject({ code: "operation.invalid" });
  await expect(apply(typed(1.5, "pn_counter"))).resolves.toEqual(["applied"]);
});

test("[D25] a merge of a state from too far ahead is refused", async () => {
  const stamp = { time: timeOfMs(START_MS + 600_000), site: "00000000000000ee" };
  const operation = { kind: "insert", collection: "c", id: "a", fields: { n: 1 } } as const;
  const state = deltaOf(EMPTY_STATE, operation, stamp);
  const merge = { kind: "merge", collection: "c", id: "a", state: state && stateToBytes(state) };
  await expect(apply(merge)).rejects.toMatchObject({ code: "clock.ahead" });
});

test("[K21] a read before a write sees the own writes of the request, and keeps its first guard", async () => {
  const { store } = await openStore();
  const { result } = await store.transact((transaction) => {
    const before = transaction.get("c", "a");
    transaction.apply([insert({ n: 1 }) as Operation]);
    return [before, transaction.get("c", "a")?.fields];
  });
  expect(result).toEqual([undefined, { n: 1 }]);
});

test("an empty list of operations takes no tick and no txnId", async () => {
  const { store } = await openStore();
  const { txnId } = await store.transact((transaction) => transaction.apply([]));
  expect(txnId).toBe(0);
  expect(store.read((snapshot) => snapshot.head.time)).toBe(0);
});

test("[K21] an operation that cannot be applied is refused before any of its statement is", async () => {
  const { store, storage } = await openStore();
  const bad: Operation = {
    kind: "insert",
    collection: "c",
    id: "b",
    fields: { f: "no token" },
    types: { f: "attachment" },
  };
  await store.transact((transaction) => {
    expect(() => transaction.apply([insert({}) as Operation, bad])).toThrow("token");
    transaction.apply([insert({ n: 1 }, "c") as Operation]);
  });
  expect(store.read((snapshot) => [...snapshot.scan("c")].map(({ id }) => id))).toEqual(["c"]);
  expect(problems(storage)).toEqual([]);
});

test("[D27] a document or path that one tick would write twice is refused", async () => {
  const place = { collection: "c", id: "a" };
  const plus = { kind: "increment", path: ["k"], by: 1 };
  const set = (path: string[], value: Value): unknown => ({ kind: "set", path, value });
  const update = (...edits: unknown[]): unknown => ({ kind: "update", ...place, edits });
  for (const operations of [
    [update(plus), update(plus)],
    [{ kind: "delete", ...place }, insert({})],
    [update(plus, plus)],
    [update(set(["o"], 1), set(["o", "p"], 2))],
    [update(set(["o"], { p: 1 }), set(["o", "p"], 2))],
  ]) {
    await expect(apply(...operations)).rejects.toMatchObject({ code: "operation.invalid" });
  }
  const { store } = await openStore();
  await store.transact((transaction) => {
    transaction.apply([insert({}) as Operation]);
    transaction.apply([update(set(["o"], { q: 1 }), set(["o", "p"], 2)) as Operation]);
  });
  expect(fieldsOf(store, "c", "a")).toEqual({ o: { q: 1, p: 2 } });
});

test("[K29] housekeeping and documents do not share a transaction", async () => {
  const { store } = await openStore();
  const mixed = store.transact((transaction) => {
    transaction.apply([insert({}) as Operation]);
    transaction.apply([{ kind: "trim", upTo: 0 }]);
  });
  await expect(mixed).rejects.toMatchObject({ code: "operation.invalid" });
});

test("[K21] a walk shows the state when it started, whatever is written meanwhile", async () => {
  const { store } = await openStore();
  const ids = [1, 2, 3, 4];
  await store.transact((transaction) =>
    transaction.apply(ids.map((id) => insert({ n: 0 }, id) as Operation)),
  );
  const { result } = await store.transact((transaction) => {
    const set = (id: number, value: number): Operation => ({
      kind: "update",
      collection: "c",
      id,
      edits: [{ kind: "set", path: ["n"], value }],
    });
    transaction.apply([set(2, 5)]);
    const seen: Value[] = [];
    for (const { id, fields } of transaction.view.scan("c")) {
      seen.push([id, fields["n"] ?? null]);
      if (id === 1) transaction.apply([set(2, 9), set(4, 9)]);
      if (id === 2) transaction.apply([{ kind: "delete", collection: "c", id: 3 }]);
    }
    return seen;
  });
  expect(result).toEqual([
    [1, 0],
    [2, 5],
    [3, 0],
    [4, 0],
  ]);
});

test("a request that is evaluated asynchronously, or a transaction after its end, is refused", async () => {
  const { store } = await openStore();
  await expect(store.transact(async () => 1)).rejects.toThrow("synchronously");
  let kept: Transaction | undefined;
  await store.transact((transaction) => {
    kept = transaction;
  });
  expect(() => kept?.apply([insert({}) as Operation])).toThrow("the transaction has ended");
});

test("the name of a request is kept in the log", async () => {
  const { store } = await openStore();
  await store.transact((transaction) => transaction.apply([insert({}) as Operation]), {
    requestId: "request 7",
  });
  const record = store.read((snapshot) => snapshot.reader.get(transactionKey(1)));
  expect(record).toMatchObject({ requestId: "request 7", at: START_MS });
});

test("[K97] the writer of a transaction is kept in the log; without one, it has no name", async () => {
  const { store } = await openStore();
  const by = { provider: "corp", user: "ann", peer: "pk:1" };
  await store.transact((transaction) => transaction.apply([insert({}) as Operation]), { by });
  await store.transact((transaction) => transaction.apply([insert({ n: 2 }) as Operation]));
  const record = store.read((snapshot) => snapshot.reader.get(transactionKey(1)));
  expect(record).toMatchObject({ by });
  const nameless = store.read((snapshot) => snapshot.reader.get(transactionKey(2)));
  expect(nameless).not.toHaveProperty("by");
});

test("[K97] while another node could not keep it, the writer is left out", async () => {
  let isKept = false;
  const { store } = await openStore({ isWriterLogged: () => isKept });
  const by = { credential: "k1" };
  const write = (transaction: Transaction): unknown =>
    transaction.apply([insert({ n: transaction.txnId }) as Operation]);
  await store.transact(write, { by });
  isKept = true;
  await store.transact(write, { by });
  const recordOf = (txnId: number): unknown =>
    store.read((snapshot) => snapshot.reader.get(transactionKey(txnId)));
  expect(recordOf(1)).not.toHaveProperty("by");
  expect(recordOf(2)).toMatchObject({ by });
});
