import { type Operation, timeOfMs, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { deltaOf } from "../../src/crdt/edit.ts";
import { EMPTY_STATE } from "../../src/crdt/state.ts";
import { stateToBytes } from "../../src/crdt/state-codec.ts";
import { dump, fieldsOf, openStore } from "../support/open-store.ts";
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

test("[V7] what is not a value is refused with its place, and nothing is written", async () => {
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

test("[V2] integers are stored in their one form", async () => {
  const { store } = await openStore();
  await store.transact((transaction) =>
    transaction.apply([insert({ small: 5n, large: 2n ** 62n, deep: [7n] }) as Operation]),
  );
  expect(fieldsOf(store, "c", "a")).toEqual({ small: 5, large: 2n ** 62n, deep: [7] });
});

test("names and fields of a wrong kind are refused with what was expected", async () => {
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

test("[D2] a merge of a state from too far ahead is refused", async () => {
  const stamp = { time: timeOfMs(START_MS + 600_000), site: "00000000000000ee" };
  const operation = { kind: "insert", collection: "c", id: "a", fields: { n: 1 } } as const;
  const state = deltaOf(EMPTY_STATE, operation, stamp);
  const merge = { kind: "merge", collection: "c", id: "a", state: state && stateToBytes(state) };
  await expect(apply(merge)).rejects.toMatchObject({ code: "clock.ahead" });
});

test("[K21] a read for a write sees what the same request wrote, by the guard of before", async () => {
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
