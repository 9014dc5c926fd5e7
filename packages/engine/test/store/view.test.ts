import type { Operation, Value } from "@bigpeer/protocol";
import { compareValues } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Bound } from "../../src/store/keys.ts";
import type { ScanRange } from "../../src/store/view.ts";
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

test("[K2] [V3] a scan returns all documents in the order of their ids", async () => {
  const { store } = await filled();
  const ids = store.read((snapshot) => [...snapshot.scan("c")].map(({ id }) => id));
  expect(ids).toEqual([...IDS].sort(compareValues));
});

test("[V8] every id is returned as it was given", async () => {
  const { store } = await filled();
  store.read((snapshot) => {
    for (const [i, id] of IDS.entries())
      expect(snapshot.get("c", id)).toMatchObject({ id, fields: { i } });
  });
});

test("types are returned where the shape of a value does not determine them", async () => {
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

test("[K3] collections whose names are prefixes of each other, or contain zero bytes, are distinct", async () => {
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

test("[K2] a scan goes in either direction, continues after an id, and stays within bounds of the id", async () => {
  const { store } = await filled();
  const sorted = [...IDS].sort(compareValues);
  const values: (Value | undefined)[] = [...IDS, 9.5, null, undefined, "a\0", "z".repeat(3000)];
  const isWithin = (id: Value, { low, high, after, reverse }: ScanRange): boolean => {
    const direction = reverse === true ? -1 : 1;
    return (
      (low === undefined || compareValues(id, low.value) >= (low.isIncluded ? 0 : 1)) &&
      (high === undefined || compareValues(id, high.value) <= (high.isIncluded ? 0 : -1)) &&
      (after === undefined || compareValues(id, after) * direction > 0)
    );
  };
  store.read((snapshot) => {
    const expectScan = (range: ScanRange): void => {
      const within = sorted.filter((id) => isWithin(id, range));
      const expected = range.reverse === true ? within.toReversed() : within;
      expect([...snapshot.scan("c", range)].map(({ id }) => id)).toEqual(expected);
      expect([...snapshot.scanIds("c", range)]).toEqual(expected);
    };
    for (const reverse of [false, true]) {
      expectScan({ reverse });
      for (const after of IDS) expectScan({ after, reverse });
      for (const value of values) {
        for (const isIncluded of [false, true]) {
          const bound: Bound = { value, isIncluded };
          expectScan({ low: bound, reverse });
          expectScan({ high: bound, reverse });
          expectScan({ low: bound, after: "a", reverse });
          expectScan({ high: bound, after: "a", reverse });
          expectScan({ low: { value: 9, isIncluded: true }, high: bound, reverse });
        }
      }
    }
    expect([...snapshot.scanIds("none")]).toEqual([]);
  });
});

test("[K2] a read of some fields returns ids, these fields and their type marks", async () => {
  const { store } = await openStore();
  await store.transact((transaction) =>
    transaction.apply([
      { kind: "insert", collection: "c", id: 1, fields: { a: 1, b: { c: -0 }, d: [1] } },
      { kind: "insert", collection: "c", id: 2, fields: { a: "x" } },
      { kind: "insert", collection: "c", id: 3, fields: { b: 3, d: 4 }, types: { b: "counter" } },
    ]),
  );
  store.read((snapshot) => {
    const scanned = (fields: string[]): unknown => [...snapshot.scan("c", { fields })];
    const types = undefined;
    expect(scanned([])).toEqual([1, 2, 3].map((id) => ({ id, fields: {}, types })));
    expect(scanned(["b", "a"])).toEqual([
      { id: 1, fields: { a: 1, b: { c: -0 } }, types },
      { id: 2, fields: { a: "x" }, types },
      { id: 3, fields: { b: 3 }, types: { b: "counter" } },
    ]);
    expect(snapshot.get("c", 1, { fields: ["d"] })).toEqual({ id: 1, fields: { d: [1] }, types });
    expect([...snapshot.scan("c", { fields: ["b"], after: 1, reverse: true })]).toEqual([]);
  });
});

test("[K3] a section of the catalog lists its own names, in order, as many as requested", async () => {
  const { store } = await openStore();
  const names = ["", "a", "a\u0000", "b", "é", "\u{10ffff}"];
  const put = (section: string, name: string): Operation => ({
    kind: "catalog",
    section,
    name,
    value: section,
  });
  const sections = ["s", "s\u0000", "s\u0000t", "st", "r"];
  await store.transact((transaction) => {
    transaction.apply(sections.flatMap((section) => names.map((name) => put(section, name))));
    expect([...transaction.view.catalogNames("s")]).toEqual(names);
  });
  store.read((snapshot) => {
    for (const section of sections) expect([...snapshot.catalogNames(section)]).toEqual(names);
    expect([...snapshot.catalogNames("s", { limit: 2 })]).toEqual(["", "a"]);
    expect([...snapshot.catalogNames("unknown")]).toEqual([]);
  });
});
