import type { Operation, Value } from "@bigpeer/protocol";
import { compareValues } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { openStore } from "../support/open-store.ts";

const IDS: readonly Value[] = [
  "b",
  "a",
  "é",
  "",
  "a\u0000b",
  10,
  9,
  -5,
  2n ** 60n,
  true,
  false,
  new Uint8Array([1, 0, 255]),
  [2, "x"],
  [1],
  { k: 1 },
  { a: null },
];

async function filled(): ReturnType<typeof openStore> {
  const opened = await openStore();
  const operations = IDS.map(
    (id, i): Operation => ({ kind: "insert", collection: "c", id, fields: { i } }),
  );
  await opened.store.transact((transaction) => transaction.apply(operations));
  return opened;
}

test("[K2] [V3] a scan gives all documents in the order of their ids", async () => {
  const { store } = await filled();
  const ids = store.read((snapshot) => [...snapshot.scan("c")].map(({ id }) => id));
  expect(ids).toEqual([...IDS].sort(compareValues));
});

test("[V8] every id comes back as it was given", async () => {
  const { store } = await filled();
  store.read((snapshot) => {
    for (const [i, id] of IDS.entries())
      expect(snapshot.get("c", id)).toMatchObject({ id, fields: { i } });
  });
});

test("types are told where the shape of a value does not tell them", async () => {
  const { store } = await openStore();
  const fields = { plain: { a: 1 }, whole: { a: 1 }, k: 3 };
  const types = { whole: "register", k: "counter" } as const;
  await store.transact((transaction) =>
    transaction.apply([{ kind: "insert", collection: "c", id: 1, fields, types }]),
  );
  expect(store.read((snapshot) => snapshot.get("c", 1))).toEqual({ id: 1, fields, types });
});

test("a collection that was never written to is empty and has no number", async () => {
  const { store } = await filled();
  store.read((snapshot) => {
    expect(snapshot.collectionNumber("none")).toBeUndefined();
    expect([...snapshot.scan("none")]).toEqual([]);
    expect(snapshot.get("none", 1)).toBeUndefined();
    expect([...snapshot.changedSince("none", 0)]).toEqual([]);
    expect(snapshot.collections()).toEqual(["c"]);
  });
});

test("[K3] collections whose names contain each other, or zero bytes, stay apart", async () => {
  const { store } = await openStore();
  const names = ["a", "ab", "a\u0000", "a\u0000b", "é"];
  await store.transact((transaction) =>
    transaction.apply(
      names.map((collection, n) => ({ kind: "insert", collection, id: 1, fields: { n } })),
    ),
  );
  store.read((snapshot) => {
    expect(snapshot.collections().sort()).toEqual([...names].sort());
    for (const [n, name] of names.entries()) {
      expect([...snapshot.scan(name)].map(({ fields }) => fields)).toEqual([{ n }]);
    }
  });
});
