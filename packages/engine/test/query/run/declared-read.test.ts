/**
 * What a statement sees of a document, by declaration and by strict mode.
 */

import type { Types, Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { readDocument } from "../../../src/query/run/declared-read.ts";
import { COLLECTION, LAX, MutationDesk, STRICT, typing } from "../../support/mutation.ts";

const DOCUMENT = { _id: "1", m: { a: 1 }, n: 5, l: [1] };

test("without a declaration the same document object is returned", async () => {
  const desk = await MutationDesk.open(DOCUMENT);
  desk.store.read((view) => {
    const document = view.get(COLLECTION, "1");
    if (document === undefined) throw new Error("expected the document");
    const source = { view, collection: COLLECTION };
    for (const as of [LAX, typing({}), typing({ m: "map" }), typing({ m: { a: "register" } })]) {
      expect(readDocument(document, as, source)).toBe(document);
    }
  });
});

test.each<[Types, Value]>([
  [{ m: "map" }, { m: { a: 1 }, n: 5, l: [1] }],
  [{ m: "register" }, { n: 5, l: [1] }],
  [{ n: "counter" }, { m: { a: 1 }, l: [1] }],
  [{ n: "pn_counter" }, { m: { a: 1 }, l: [1] }],
  [{ n: "attachment" }, { m: { a: 1 }, l: [1] }],
  [{ zz: "map" }, { m: { a: 1 }, n: 5, l: [1] }],
  [{ m: { a: "register" } }, { m: { a: 1 }, n: 5, l: [1] }],
  [{ m: { a: "counter" } }, { m: {}, n: 5, l: [1] }],
  [{ m: { a: { b: "map" } } }, { m: {}, n: 5, l: [1] }],
])("declared as %j, a field shows only if it is stored with that type", async (types, expected) => {
  const desk = await MutationDesk.open(DOCUMENT);
  expect(desk.read("1", typing(types))).toEqual(expected);
});

test("a declared type shows its variant also below a newer one", async () => {
  const desk = await MutationDesk.open({ _id: "1", o: { a: 1 }, p: { q: { r: 1 } } });
  await desk.update({ apply: [["o", "increment", 4]], set: [["p.q", 9]] });
  expect(desk.read("1")).toEqual({ o: 4, p: { q: 9 } });
  expect(desk.read("1", typing({ o: "map" }))).toEqual({ o: { a: 1 }, p: { q: 9 } });
  expect(desk.read("1", typing({ p: { q: "map" } }))).toEqual({ o: 4, p: { q: { r: 1 } } });
});

test("in strict mode an undeclared field shows only as a register", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: 1, o: { p: { q: 1 }, t: "k" }, l: [1] });
  await desk.update({
    apply: [
      ["k", "increment", 4],
      ["j", "pn_increment", 3],
    ],
  });
  expect(desk.read("1", STRICT)).toEqual({ a: 1, l: [1] });
  expect(desk.read("1", typing({ o: "map" }, true))).toEqual({ a: 1, l: [1], o: { t: "k" } });
  expect(desk.read("1", typing({ k: "counter" }, true))).toEqual({ a: 1, l: [1], k: 4 });
  expect(desk.read("1", typing({ j: "pn_counter" }, true))).toEqual({ a: 1, l: [1], j: 3 });
  expect(desk.read("1", typing({ o: { p: "map" } }, true))).toEqual({
    a: 1,
    l: [1],
    o: { p: { q: 1 }, t: "k" },
  });
});

test("in strict mode the register of a field shows below a newer map", async () => {
  const desk = await MutationDesk.open();
  await desk.insert([{ _id: "1", o: { t: "k" } }], { typing: STRICT });
  await desk.update({ set: [["o.t", "n"]], typing: typing({ o: "map" }, true) });
  expect(desk.read("1", STRICT)).toEqual({ o: { t: "k" } });
  expect(desk.read("1")).toEqual({ o: { t: "n" } });
});

test("strict mode reads a field named __proto__ as an ordinary field", async () => {
  const fields = JSON.parse('{"_id":"1","__proto__":1,"o":{"__proto__":{"x":1}}}') as Value;
  const desk = await MutationDesk.open();
  await desk.insert([fields]);
  const read = desk.read("1", typing({ o: "map" }, true)) as object;
  expect(Object.entries(read)).toEqual([
    ["__proto__", 1],
    ["o", {}],
  ]);
});

test("a row that is not in the store is returned unchanged", async () => {
  const desk = await MutationDesk.open();
  const row = { id: "1", fields: { dummy: { x: 1 } }, types: undefined };
  desk.store.read((view) => {
    expect(readDocument(row, STRICT, { view, collection: "dual" })).toBe(row);
  });
});
