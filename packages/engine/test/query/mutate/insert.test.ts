/**
 * INSERT on a real store: shapes, ids, conflicts, types.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { InsertPlan } from "../../../src/query/mutate/insert.ts";
import { Failure, Float, MISSING, type Outcome } from "../../../src/query/value/datum.ts";
import { COLLECTION, LAX, MutationDesk, STRICT, typing } from "../../support/mutation.ts";
import { dump } from "../../support/open-store.ts";

const HERE = { _id: "1", a: 1, o: { x: 1, y: { z: 1 } }, l: [1, 2], s: "keep" };
const { _id: _, ...FIELDS } = HERE;

test("each row is one document, and an array is several", async () => {
  const desk = await MutationDesk.open();
  const { ids, documents } = await desk.insert([
    [{ _id: "1" }, { _id: "2", a: { b: [1, null] } }],
    { _id: "3" },
  ]);
  expect(ids).toEqual(["1", "2", "3"]);
  expect(documents.map(({ fields }) => fields)).toEqual([{}, { a: { b: [1, null] } }, {}]);
  expect(desk.ids()).toEqual(["1", "2", "3"]);
});

test("no rows insert no documents", async () => {
  const desk = await MutationDesk.open();
  expect(await desk.insert([])).toEqual({ ids: [], documents: [] });
});

test.each<[string, Outcome, string]>([
  ["text", "x", "expected a document (an object), found text"],
  ["a number", 1, "found an integer"],
  ["a boxed number", new Float(1), "found a float"],
  ["null", null, "found null"],
  ["MISSING", MISSING, "found nothing"],
  ["an empty array", [], "found an empty array"],
  ["an array of something else", [{ _id: "2" }, 5], "found an integer"],
  ["an array in an array", [[{ _id: "2" }]], "found an array"],
  ["a failure", new Failure("expected JSON", 3), "cannot evaluate a document: expected JSON"],
])("%s is not a document", async (_name, row, message) => {
  const desk = await MutationDesk.open();
  const refused = desk.insert([{ _id: "9" }, row]);
  await expect(refused).rejects.toMatchObject({ code: "query.semantic" });
  await expect(refused).rejects.toThrow(message);
  expect(desk.ids()).toEqual([]);
});

test("an error has the place where it occurred", async () => {
  const desk = await MutationDesk.open();
  await expect(desk.insert([new Failure("x", 3)])).rejects.toMatchObject({ offset: 3 });
  await expect(desk.insert([new Failure("x")])).rejects.toMatchObject({ offset: 7 });
});

test.each<Value>([1, true, [1, "b"], {}, { k: null }, [null], new Uint8Array([1, 2]), "é/ü \n"])(
  "%j can be an id",
  async (id) => {
    const desk = await MutationDesk.open();
    expect((await desk.insert([{ _id: id, a: 1 }])).ids).toEqual([id]);
    expect(desk.read(id)).toEqual({ a: 1 });
  },
);

test.each([null, 1.5, new Float(1), { k: 1.5 }, [new Float(2)], "x".repeat(2000)])(
  "%j cannot be an id",
  async (id) => {
    const desk = await MutationDesk.open();
    const refused = desk.insert([{ _id: "2" }, { _id: id }]);
    await expect(refused).rejects.toMatchObject({ code: "query.semantic", offset: 7 });
    expect(desk.ids()).toEqual([]);
  },
);

test("1 and '1' are two ids, and the key order of an id does not matter", async () => {
  const desk = await MutationDesk.open({ _id: 1 }, { _id: "1" });
  expect(desk.ids()).toEqual([1, "1"]);
  const twice = desk.insert([{ _id: { a: 1, b: 2 } }, { _id: { b: 2, a: 1 } }]);
  await expect(twice).rejects.toMatchObject({ code: "query.semantic" });
});

test("each document without an id gets its own UUID of version 4", async () => {
  const desk = await MutationDesk.open();
  const { ids } = await desk.insert([{ a: 1 }, { a: 2 }, {}]);
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  expect(desk.read(ids[1] ?? null)).toEqual({ a: 2 });
});

test.each<InsertPlan["conflict"]>(["fail", "nothing", "update", "merge", "update_local_diff"])(
  "the same id twice is refused under the policy %s",
  async (conflict) => {
    const desk = await MutationDesk.open();
    const refused = desk.insert(
      [
        { _id: "2", a: 1 },
        { _id: "2", b: 2 },
      ],
      { conflict },
    );
    await expect(refused).rejects.toMatchObject({ code: "query.semantic" });
    await expect(refused).rejects.toThrow('expected unique document ids, found "2" twice');
    expect(desk.ids()).toEqual([]);
  },
);

test("FAIL refuses the whole statement if one id exists", async () => {
  const desk = await MutationDesk.open(HERE);
  const before = dump(desk.storage);
  const refused = desk.insert([{ _id: "2" }, { _id: "1", a: 2 }, { _id: "3" }]);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation", offset: 7 });
  await expect(refused).rejects.toThrow('a document with the _id "1" exists already');
  expect(dump(desk.storage)).toEqual(before);
});

test("DO NOTHING skips existing documents, and does not report them", async () => {
  const desk = await MutationDesk.open(HERE);
  const conflict = "nothing";
  const { ids, documents } = await desk.insert([{ _id: "1", a: 2 }, { _id: "2" }], { conflict });
  expect(ids).toEqual(["2"]);
  expect(documents.map(({ id }) => id)).toEqual(["2"]);
  expect(desk.read("1")).toEqual(FIELDS);
});

test.each<[Value, Value]>([
  [{ o: { x: 9 } }, { ...FIELDS, o: { x: 9, y: { z: 1 } } }],
  [{ o: {} }, FIELDS],
  [{ o: 5 }, { ...FIELDS, o: 5 }],
  [{ o: null }, { ...FIELDS, o: null }],
  [{ a: { q: 1 } }, { ...FIELDS, a: { q: 1 } }],
  [{ l: [9] }, { ...FIELDS, l: [9] }],
  [
    { a: 2, n: 3 },
    { ...FIELDS, a: 2, n: 3 },
  ],
  [{}, FIELDS],
  [{ a: 1 }, FIELDS],
])(
  "DO UPDATE and DO MERGE merge %j into the existing document, and report it",
  async (given, expected) => {
    for (const conflict of ["update", "merge"] as const) {
      const desk = await MutationDesk.open(HERE);
      const { ids, documents } = await desk.insert([{ _id: "1", ...(given as object) }], {
        conflict,
      });
      expect(ids).toEqual(["1"]);
      expect(documents[0]?.fields).toEqual(expected);
      expect(desk.read("1")).toEqual(expected);
    }
  },
);

test.each<[Value, readonly string[], Value]>([
  [{ a: 1, s: "keep" }, [], FIELDS],
  [{ l: [1, 2] }, [], FIELDS],
  [{ o: { y: { z: 1 } } }, [], FIELDS],
  [{ o: {} }, [], FIELDS],
  [{ a: 5, s: "keep" }, ["1"], { ...FIELDS, a: 5 }],
  [{ o: { x: 9, y: {} } }, ["1"], { ...FIELDS, o: { x: 9, y: { z: 1 } } }],
  [{ o: { y: { w: {} } } }, ["1"], { ...FIELDS, o: { x: 1, y: { z: 1, w: {} } } }],
  [{ n: null }, ["1"], { ...FIELDS, n: null }],
])("DO UPDATE_LOCAL_DIFF writes only the differences: %j", async (given, ids, expected) => {
  const desk = await MutationDesk.open(HERE);
  const before = desk.store.read((view) => view.head.txnId);
  const rows = [{ _id: "1", ...(given as object) }];
  const outcome = await desk.insert(rows, { conflict: "update_local_diff" });
  expect(outcome.ids).toEqual(ids);
  expect(outcome.documents).toHaveLength(ids.length);
  expect(desk.read("1")).toEqual(expected);
  expect(desk.store.read((view) => view.head.txnId) - before).toBe(ids.length);
});

test("DO UPDATE_LOCAL_DIFF keeps a counter that already shows the given number", async () => {
  const desk = await MutationDesk.open({ _id: "1" });
  await desk.update({ apply: [["k", "increment", 5]] });
  const conflict = "update_local_diff";
  expect((await desk.insert([{ _id: "1", k: 5 }], { conflict })).ids).toEqual([]);
  await desk.update({ apply: [["k", "increment", 1]] });
  expect(desk.read("1")).toEqual({ k: 6 });
});

test("DO UPDATE_LOCAL_DIFF turns a register into a map when it differs", async () => {
  const desk = await MutationDesk.open();
  await desk.insert([{ _id: "1", o: { p: 1, t: "k" } }], { typing: STRICT });
  const conflict = "update_local_diff";
  await desk.insert([{ _id: "1", o: { t: "m" } }], { conflict });
  expect(desk.read("1")).toEqual({ o: { t: "m" } });
});

test("an upsert does not affect existence: it is an update of the fields", async () => {
  const desk = await MutationDesk.open(HERE);
  const alive = (): unknown => desk.store.read((view) => view.state(COLLECTION, "1").state.alive);
  const before = alive();
  await desk.insert([{ _id: "1", a: 2 }], { conflict: "update" });
  expect(alive()).toEqual(before);
});

test("after a delete an insert starts clean under every policy", async () => {
  for (const conflict of ["fail", "nothing", "update", "update_local_diff"] as const) {
    const desk = await MutationDesk.open({ _id: "1", a: 1, o: { x: 1 } });
    await desk.update({ apply: [["k", "increment", 5]] });
    await desk.remove("delete");
    expect((await desk.insert([{ _id: "1", o: { y: 2 } }], { conflict })).ids).toEqual(["1"]);
    expect(desk.read("1")).toEqual({ o: { y: 2 } });
  }
});

test("INITIAL writes new documents, skips existing ones, and loses to every other write", async () => {
  const desk = await MutationDesk.open(HERE);
  const rows = [
    { _id: "1", a: 9 },
    { _id: "2", a: 9, o: { x: 1 } },
  ];
  expect((await desk.insert(rows, { isInitial: true })).ids).toEqual(["2"]);
  expect(desk.read("1")).toEqual(FIELDS);
  await desk.update({ set: [["a", 2]] }, ["2"]);
  expect(desk.read("2")).toEqual({ a: 2, o: { x: 1 } });
  await expect(desk.insert([{ _id: "2" }])).rejects.toMatchObject({ code: "query.evaluation" });
});

test("INITIAL does not bring back a deleted document, and does not report it", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: 1 });
  await desk.remove("delete");
  expect(await desk.insert([{ _id: "1", b: 2 }], { isInitial: true })).toEqual({
    ids: [],
    documents: [],
  });
  expect(desk.ids()).toEqual([]);
});

test("7.0 is stored as 7, also when nested", async () => {
  const desk = await MutationDesk.open();
  await desk.insert([{ _id: "1", a: new Float(7), o: { l: [new Float(1), 2.5] }, z: "s" }]);
  expect(desk.read("1")).toEqual({ a: 7, o: { l: [1, 2.5] }, z: "s" });
});

test("declared types determine how a field is stored", async () => {
  const desk = await MutationDesk.open();
  const types = { m: { n: "counter" }, r: "register", k: "counter" } as const;
  await desk.insert([{ _id: "1", m: { n: 3, o: 1 }, r: { a: 1 }, k: 9, x: 1 }], {
    typing: typing(types),
  });
  expect(desk.read("1")).toEqual({ m: { n: 3, o: 1 }, r: { a: 1 }, k: 9, x: 1 });
  expect(desk.read("1", typing(types))).toEqual({ m: { n: 3, o: 1 }, r: { a: 1 }, k: 9, x: 1 });
  expect(desk.read("1", typing({ r: "map", k: "register" }))).toEqual({ m: { n: 3, o: 1 }, x: 1 });
});

test.each<[Value, object, string]>([
  [5, { m: "map" }, "m is declared as MAP: expected an object, found an integer"],
  [null, { m: { a: "map" } }, "m is declared as MAP: expected an object, found null"],
  [{ a: 5 }, { m: { a: "map" } }, "m.a is declared as MAP: expected an object"],
  [1.5, { m: "counter" }, "m is declared as COUNTER: expected an integer, found a float"],
  ["1", { m: "counter" }, "expected an integer, found text"],
  [1, { m: "pn_counter" }, "m cannot be inserted: a PN_COUNTER begins with APPLY"],
  [1, { m: "attachment" }, "m is declared as ATTACHMENT: expected an attachment token"],
  [{ id: "x", len: -1 }, { m: "attachment" }, "expected an attachment token"],
  [{ id: "x", len: 1, more: 1 }, { m: "attachment" }, "expected an attachment token"],
  [{ id: "x", len: 1, metadata: { a: 1 } }, { m: "attachment" }, "expected an attachment token"],
])("%j is refused for the declaration %j", async (value, types, message) => {
  const desk = await MutationDesk.open();
  const refused = desk.insert([{ _id: "1", m: value }], { typing: typing(types as never) });
  await expect(refused).rejects.toMatchObject({ code: "query.semantic", offset: 7 });
  await expect(refused).rejects.toThrow(message);
});

test("a whole float is not an integer for a counter", async () => {
  const desk = await MutationDesk.open();
  const refused = desk.insert([{ _id: "1", k: new Float(3) }], {
    typing: typing({ k: "counter" }),
  });
  await expect(refused).rejects.toThrow("expected an integer, found a float");
});

test("without a declaration an attachment token is recognised by its shape", async () => {
  const token = { id: "abc", len: 3, metadata: { name: "x.png" } };
  const desk = await MutationDesk.open({
    _id: "1",
    f: token,
    o: { f: token },
    almost: { ...token, more: 1 },
    bare: { id: "abc", len: 3 },
  });
  const types = desk.store.read((view) => view.get(COLLECTION, "1")?.types);
  expect(types).toEqual({ f: "attachment", o: { f: "attachment" } });
  expect(desk.read("1", STRICT)).toEqual({});
  await desk.insert([{ _id: "2", f: { id: "abc", len: 3 } }], {
    typing: typing({ f: "attachment" }),
  });
  expect(desk.store.read((view) => view.get(COLLECTION, "2")?.types)).toEqual({ f: "attachment" });
});

test("in strict mode an object is a register, unless it is declared", async () => {
  const desk = await MutationDesk.open();
  await desk.insert([{ _id: "1", o: { p: { q: 1 } } }], { typing: STRICT });
  await desk.insert([{ _id: "1", o: { z: 1 } }], { typing: STRICT, conflict: "update" });
  expect(desk.read("1", STRICT)).toEqual({ o: { z: 1 } });
  expect(desk.read("1", typing({ o: "register" }))).toEqual({ o: { z: 1 } });
  await desk.insert([{ _id: "2", o: { p: { q: 1 } } }], { typing: typing({ o: "map" }, true) });
  expect(desk.read("2", STRICT)).toEqual({});
  expect(desk.read("2", typing({ o: "map" }))).toEqual({ o: { p: { q: 1 } } });
  expect(desk.read("2", typing({ o: { p: "register" } }))).toEqual({ o: { p: { q: 1 } } });
});

test("an upsert that declares a counter restarts it", async () => {
  const desk = await MutationDesk.open({ _id: "1" });
  await desk.update({ apply: [["k", "increment", 5]] });
  const conflict = "update";
  await desk.insert([{ _id: "1", k: 9 }], { conflict, typing: typing({ k: "counter" }) });
  await desk.update({ apply: [["k", "increment", 1]] });
  expect(desk.read("1")).toEqual({ k: 10 });
});

test("an error of the store is an error of the statement", async () => {
  const desk = await MutationDesk.open();
  const unnamed = desk.insert([{ _id: "1" }], { collection: "" });
  await expect(unnamed).rejects.toMatchObject({ code: "query.evaluation", offset: 7 });
  let deep: Value = 1;
  for (let i = 0; i < 70; i++) deep = [deep];
  const refused = desk.insert([{ _id: "1" }, { _id: "2", deep }]);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation" });
  await expect(refused).rejects.toThrow("levels of nesting");
  expect(desk.ids()).toEqual([]);
});

test("a guard protects the check of a given id; a generated id needs no guard", async () => {
  const desk = await MutationDesk.open();
  await desk.insert([{ _id: "1" }, { a: 1 }], { typing: LAX });
  const changes = desk.store.read((view) => {
    const since = view.changesSince({ historyId: desk.store.identity.historyId, txnId: 0 });
    return since.kind === "changes" ? [...since.transactions] : [];
  });
  expect(changes.at(-1)?.record.guards).toEqual([[COLLECTION, "1", 0]]);
});

test("documents are read back only for RETURNING", async () => {
  const desk = await MutationDesk.open();
  expect(await desk.insert([{ _id: "1" }], { isReturning: false })).toEqual({
    ids: ["1"],
    documents: [],
  });
});
