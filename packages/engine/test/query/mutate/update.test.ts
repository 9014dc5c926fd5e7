/**
 * UPDATE on a real store: what may be written, what it leaves, what is refused.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import type { Frame } from "../../../src/query/frame/frame.ts";
import { Failure, Float, MISSING } from "../../../src/query/value/datum.ts";
import {
  type Changes,
  COLLECTION,
  field,
  MutationDesk,
  STRICT,
  typing,
} from "../../support/mutation.ts";
import { dump } from "../../support/open-store.ts";

const HERE = {
  _id: "1",
  a: 1,
  s: "x",
  n: null,
  o: { p: { q: 1, r: 2 }, t: "k" },
  l: [1, { z: 2 }, 3],
};
const { _id: _, ...FIELDS } = HERE;
const OTHER = { _id: "2", a: 2, s: "y" };

async function updated(changes: Changes): Promise<Value | undefined> {
  const desk = await MutationDesk.open(HERE, OTHER);
  const { ids, documents } = await desk.update(changes, ["1"]);
  expect(ids).toEqual(["1"]);
  const after = desk.read("1", changes.typing);
  expect(documents.map(({ fields }) => fields)).toEqual([after]);
  expect(desk.read("2")).toEqual({ a: 2, s: "y" });
  return desk.read("1");
}

test.each<[Changes["set"], object]>([
  [[["a", 5]], { a: 5 }],
  [[["a", null]], { a: null }],
  [[["a", [1, 2]]], { a: [1, 2] }],
  [[["a", { k: 1 }]], { a: { k: 1 } }],
  [[["a", new Float(1)]], { a: 1 }],
  [[["newf", 1]], { newf: 1 }],
  [[["odd key", 1]], { "odd key": 1 }],
  [
    [
      ["a", 5],
      ["s", "z"],
    ],
    { a: 5, s: "z" },
  ],
  [[["o.p.q", 9]], { o: { p: { q: 9, r: 2 }, t: "k" } }],
  [[["o.deep.er.est", 1]], { o: { p: { q: 1, r: 2 }, t: "k", deep: { er: { est: 1 } } } }],
  [[["brand.new.path", 1]], { brand: { new: { path: 1 } } }],
  [[["o", { only: 1 }]], { o: { p: { q: 1, r: 2 }, t: "k", only: 1 } }],
  [[["o", null]], { o: null }],
  [[["o.p", { q: 5 }]], { o: { p: { q: 5, r: 2 }, t: "k" } }],
  [[["o.p", {}]], {}],
  [[["o.p", null]], { o: { p: null, t: "k" } }],
  [[["s.b.c", 1]], { s: { b: { c: 1 } } }],
  [[["n.b", 1]], { n: { b: 1 } }],
  [[["l.b", 1]], { l: { b: 1 } }],
  [[["l", []]], { l: [] }],
  [
    [
      ["o", { a: 1 }],
      ["o.b", 2],
    ],
    { o: { a: 1, b: 2, p: { q: 1, r: 2 }, t: "k" } },
  ],
])("SET %j writes the fields, and creates maps on the way", async (set, change) => {
  expect(await updated({ set: set ?? [] })).toEqual({ ...FIELDS, ...change });
});

test("right-hand sides see the row as it was", async () => {
  const swap = {
    set: [
      ["a", field("s")],
      ["s", field("a")],
    ],
  } as const;
  expect(await updated(swap)).toEqual({ ...FIELDS, a: "x", s: 1 });
});

test.each<[Changes["unset"], object]>([
  [["a"], { a: undefined }],
  [["a", "s"], { a: undefined, s: undefined }],
  [["o"], { o: undefined }],
  [["o.t"], { o: { p: { q: 1, r: 2 } } }],
  [["o.p.q"], { o: { p: { r: 2 }, t: "k" } }],
  [["o.p.q", "o.p.r"], { o: { p: {}, t: "k" } }],
  [["n"], { n: undefined }],
  [["nothere"], {}],
  [["nothere.x"], {}],
  [["a.x"], {}],
  [["l.x"], {}],
])(
  "UNSET %j removes the field if it is there, and reports the document in any case",
  async (unset, change) => {
    expect(await updated({ unset: unset ?? [] })).toEqual({ ...FIELDS, ...change });
  },
);

test("APPLY, SET and UNSET can be combined in one tick", async () => {
  const changes: Changes = { apply: [["k", "increment", 1]], set: [["s", "z"]], unset: ["a"] };
  const { a: _a, ...rest } = FIELDS;
  expect(await updated(changes)).toEqual({ ...rest, s: "z", k: 1 });
});

test("a SET of a map can be combined with writes below it to fields that it does not name", async () => {
  const set = [["o", { a: 1 }]] as const;
  const { p } = FIELDS.o;
  expect(await updated({ set, unset: ["o.t"] })).toEqual({ ...FIELDS, o: { a: 1, p } });
  expect(await updated({ set, apply: [["o.k", "increment", 2]] })).toEqual({
    ...FIELDS,
    o: { a: 1, k: 2, p, t: "k" },
  });
});

test("a scalar hides a map, and a SET below brings it back", async () => {
  for (const set of [["o.z", 1] as const, ["o", { z: 1 }] as const]) {
    const desk = await MutationDesk.open(HERE);
    await desk.update({ set: [["o", 5]] });
    await desk.update({ set: [set] });
    expect(desk.read("1")).toEqual({ ...FIELDS, o: { p: { q: 1, r: 2 }, t: "k", z: 1 } });
  }
});

test("after UNSET no earlier value comes back", async () => {
  for (const set of [["o.z", 1] as const, ["o", { z: 1 }] as const]) {
    const desk = await MutationDesk.open(HERE);
    await desk.update({ unset: ["o"] });
    await desk.update({ set: [set] });
    expect(desk.read("1")).toEqual({ ...FIELDS, o: { z: 1 } });
  }
});

test("an object in a register becomes a map when a field below it is written", async () => {
  for (const [changes, o] of [
    [{ set: [["o.a", 9]] }, { a: 9 }],
    [{ set: [["o.z.y", 9]] }, { z: { y: 9 } }],
    [{ set: [["o", { c: 3 }]] }, { c: 3 }],
    [{ unset: ["o.a"] }, {}],
    [{ unset: ["o.a", "o.b.c"] }, {}],
    [{ set: [["o.c", 1]], unset: ["o.a"] }, { c: 1 }],
    [{ unset: ["o"] }, undefined],
  ] as [Changes, Value | undefined][]) {
    const desk = await MutationDesk.open();
    const types = typing({ o: "register" });
    await desk.insert([{ _id: "1", o: { a: 1, b: 2 } }], { typing: types });
    expect((await desk.update(changes)).ids).toEqual(["1"]);
    expect(desk.read("1")).toEqual(o === undefined ? {} : { o });
  }
});

test.each<[Changes, string, number]>([
  [{ set: [["_id", "9"]] }, "the document id `_id` cannot be modified", 10],
  [{ set: [["_id.x", 1]] }, "the document id `_id` cannot be modified", 10],
  [{ unset: ["_id"] }, "the document id `_id` cannot be modified", 20],
  [{ apply: [["_id", "increment", 1]] }, "the document id `_id` cannot be modified", 0],
  [
    {
      set: [
        ["a", 1],
        ["a", 2],
      ],
    },
    "more than one modification of a",
    11,
  ],
  [{ set: [["a", 1]], unset: ["a"] }, "more than one modification of a", 20],
  [
    {
      apply: [
        ["k", "increment", 1],
        ["k", "increment", 2],
      ],
    },
    "more than one modification of k",
    1,
  ],
  [{ apply: [["k", "increment", 1]], set: [["k", 1]] }, "more than one modification of k", 10],
  [
    {
      set: [
        ["a.b", 1],
        ["a", 2],
      ],
    },
    "more than one modification of a.b",
    10,
  ],
  [
    {
      set: [
        ["a.b", 1],
        ["a", [2]],
      ],
    },
    "more than one modification of a.b",
    10,
  ],
  [{ set: [["o.k", 1]], unset: ["o"] }, "more than one modification of o.k", 10],
  [{ unset: ["o", "o.p.q"] }, "more than one modification of o.p.q", 21],
  [
    {
      set: [
        ["o", { x: 1 }],
        ["o.x", 2],
      ],
    },
    "more than one modification of o.x",
    11,
  ],
  [
    {
      set: [
        ["o", { x: 1 }],
        ["o.x.y", 2],
      ],
    },
    "more than one modification of o.x.y",
    11,
  ],
  [{ set: [["o", { t: 1 }]], unset: ["o.t"] }, "more than one modification of o.t", 20],
  [{ set: [["a", MISSING]] }, "the value for a is MISSING; use UNSET to remove a field", 10],
  [{ set: [["a", new Failure("expected a number", 4)]] }, "for a: expected a number", 4],
  [{ set: [["odd key.b", new Failure("no")]] }, "the value for `odd key`.b: no", 10],
  [{ apply: [["k", "increment", 1.5]] }, "INCREMENT of k: expected an integer, found a float", 0],
  [{ apply: [["k", "increment", new Float(2)]] }, "expected an integer, found a float", 0],
  [{ apply: [["k", "increment", "a"]] }, "expected an integer, found text", 0],
  [{ apply: [["k", "increment", null]] }, "expected an integer, found null", 0],
  [{ apply: [["k", "increment", () => MISSING]] }, "the value for k is MISSING", 0],
  [{ apply: [["k", "restart", 1.5]] }, "RESTART of k: expected an integer, found a float", 0],
  [{ apply: [["k", "restart", "a"]] }, "expected an integer, found text", 0],
  [{ apply: [["k", "pn_increment", "a"]] }, "expected a finite number, found text", 0],
  [{ apply: [["k", "pn_increment", Number.NaN]] }, "expected a finite number, found a float", 0],
])("refused: %o", async (changes, message, offset) => {
  const desk = await MutationDesk.open(HERE, OTHER);
  const before = dump(desk.storage);
  const refused = desk.update(changes);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation", offset });
  await expect(refused).rejects.toThrow(message);
  expect(dump(desk.storage)).toEqual(before);
});

test("a statement that matches no document is not an error, whatever it would do", async () => {
  const desk = await MutationDesk.open(HERE);
  const set = [
    ["_id", "x"],
    ["a", 1],
    ["a", MISSING],
  ] as const;
  expect(await desk.update({ set }, ["nobody"])).toEqual({ ids: [], documents: [] });
});

test("one bad row refuses all rows", async () => {
  const desk = await MutationDesk.open(OTHER, { _id: "3" });
  const set = [["z", field("a")]] as const;
  await expect(desk.update({ set })).rejects.toThrow("the value for z is MISSING");
  expect(desk.read("2")).toEqual({ a: 2, s: "y" });
});

test("ids are returned in the order of the rows, also of unchanged ones; each once", async () => {
  const desk = await MutationDesk.open(HERE, OTHER);
  const { ids, documents } = await desk.update({ set: [["a", field("a")]] }, ["2", "1", "2"]);
  expect(ids).toEqual(["2", "1"]);
  expect(documents.map(({ id }) => id)).toEqual(["2", "1"]);
});

test.each<[Changes["apply"], Value]>([
  [[["k", "increment", 5]], 5],
  [[["k", "increment", -3]], -3],
  [[["k", "increment", 2n ** 60n]], 2n ** 60n],
  [[["k", "restart"]], 0],
  [[["k", "restart", 10]], 10],
  [[["k", "pn_increment", 1]], 1],
  [[["k", "pn_increment", new Float(2)]], 2],
  [[["k", "pn_increment", -1.5]], -1.5],
  [[["k", "increment", field("a")]], 1],
])("APPLY %o creates a counter where there was none", async (apply, k) => {
  expect(await updated({ apply: apply ?? [] })).toEqual({ ...FIELDS, k });
});

test("a counter does not start from the value that the field showed", async () => {
  for (const path of ["a", "s", "n", "o", "l"]) {
    expect(await updated({ apply: [[path, "increment", 1]] })).toEqual({ ...FIELDS, [path]: 1 });
  }
  expect(await updated({ apply: [["o.p.q", "increment", 7]] })).toEqual({
    ...FIELDS,
    o: { p: { q: 7, r: 2 }, t: "k" },
  });
});

test("a counter continues below a register, and ends with UNSET, RESTART and DELETE", async () => {
  const desk = await MutationDesk.open({ _id: "1" });
  const k = (): unknown => (desk.read("1") as { k?: Value }).k;
  const add = (by: number): Promise<unknown> => desk.update({ apply: [["k", "increment", by]] });
  await add(5);
  await add(2);
  expect(k()).toBe(7);
  await desk.update({ set: [["k", 100]] });
  expect(k()).toBe(100);
  await add(1);
  expect(k()).toBe(8);
  await desk.update({ unset: ["k"] });
  expect(k()).toBeUndefined();
  await add(1);
  expect(k()).toBe(1);
  await desk.update({ apply: [["k", "restart"]] });
  await add(-1);
  expect(k()).toBe(-1);
  await desk.update({ apply: [["k", "pn_increment", 4]] });
  expect(k()).toBe(4);
  await add(1);
  expect(k()).toBe(0);
  await desk.remove("delete");
  await desk.insert([{ _id: "1" }]);
  await add(1);
  expect(k()).toBe(1);
});

test("a declaration determines how SET writes", async () => {
  expect(await updated({ set: [["o", { only: 1 }]], typing: typing({ o: "register" }) })).toEqual({
    ...FIELDS,
    o: { only: 1 },
  });
  expect(await updated({ set: [["o", { only: 1 }]], typing: typing({ o: "map" }) })).toEqual({
    ...FIELDS,
    o: { p: { q: 1, r: 2 }, t: "k", only: 1 },
  });
  const token = { id: "x", len: 1 };
  const desk = await MutationDesk.open(HERE);
  await desk.update({ set: [["f", token]], typing: typing({ f: "attachment" }) });
  expect(desk.store.read((view) => view.get(COLLECTION, "1")?.types)).toEqual({ f: "attachment" });
});

test.each<[Changes, string]>([
  [
    { set: [["o.t", "n"]], typing: typing({ o: "register" }) },
    "o is declared as REGISTER and has no fields to write",
  ],
  [{ set: [["o.t.x", 1]], typing: typing({ o: { t: "counter" } }) }, "o.t is declared as COUNTER"],
  [{ unset: ["o.t"], typing: typing({ o: "register" }) }, "o is declared as REGISTER"],
  [{ set: [["a", 3]], typing: typing({ a: "counter" }) }, "a is a counter and cannot be SET"],
  [{ set: [["a", 3]], typing: typing({ a: "pn_counter" }) }, "a is a counter and cannot be SET"],
  [
    { set: [["m", { n: 1 }]], typing: typing({ m: { n: "counter" } }) },
    "m.n is a counter and cannot be SET: use APPLY",
  ],
  [{ set: [["f", 1]], typing: typing({ f: "attachment" }) }, "f is declared as ATTACHMENT"],
  [{ set: [["o", 1]], typing: typing({ o: "map" }) }, "o is declared as MAP: expected an object"],
  [
    { apply: [["a", "increment", 3]], typing: typing({ a: "register" }) },
    "a is declared as REGISTER, but INCREMENT needs a COUNTER",
  ],
  [
    { apply: [["a", "increment", 3]], typing: typing({ a: "pn_counter" }) },
    "a is declared as PN_COUNTER, but INCREMENT needs a COUNTER",
  ],
  [
    { apply: [["a", "pn_increment", 3]], typing: typing({ a: "counter" }) },
    "a is declared as COUNTER, but PN_INCREMENT needs a PN_COUNTER",
  ],
  [{ set: [["o.t", "n"]], typing: STRICT }, "o is a REGISTER in strict mode"],
  [{ set: [["n.x", 1]], typing: STRICT }, "n is a REGISTER in strict mode"],
  [{ set: [["o.p.q", 1]], typing: typing({ o: "map" }, true) }, "o.p is a REGISTER in strict mode"],
  [{ unset: ["o.t"], typing: STRICT }, "o is a REGISTER in strict mode"],
  [
    { apply: [["k", "increment", 1]], typing: STRICT },
    "k is not declared, but INCREMENT needs a COUNTER",
  ],
  [{ apply: [["k", "restart", 3]], typing: STRICT }, "k is not declared, but RESTART"],
])("refused by type: %o", async (changes, message) => {
  const desk = await MutationDesk.open(HERE);
  const refused = desk.update(changes);
  await expect(refused).rejects.toMatchObject({ code: "query.evaluation" });
  await expect(refused).rejects.toThrow(message);
  expect(desk.read("1")).toEqual(FIELDS);
});

test("strict mode writes objects as registers, and declared fields as declared", async () => {
  const desk = await MutationDesk.open({ _id: "1", a: 1, o: { p: { q: 1 }, t: "k" } });
  await desk.update({ set: [["o", { z: 1 }]], typing: STRICT });
  expect(desk.read("1", STRICT)).toEqual({ a: 1, o: { z: 1 } });
  const map = typing({ o: { p: "map" } }, true);
  await desk.update({ set: [["o.p.q", 5]], typing: map });
  expect(desk.read("1", STRICT)).toEqual({ a: 1, o: { z: 1 } });
  expect(desk.read("1", map)).toEqual({ a: 1, o: { p: { q: 5 }, t: "k" } });
  await desk.update({ apply: [["k", "increment", 2]], typing: typing({ k: "counter" }, true) });
  expect(desk.read("1", typing({ k: "counter" }, true))).toEqual({ a: 1, o: { z: 1 }, k: 2 });
  await desk.update({ unset: ["o"], typing: STRICT });
  expect(desk.read("1", STRICT)).toEqual({ a: 1 });
});

test("strict right-hand sides and returned rows use the declarations of the statement", async () => {
  const desk = await MutationDesk.open({ _id: "1", o: { t: "k" } });
  const as = typing({ o: "map" }, true);
  const t = ({ slots }: Frame): Value | undefined =>
    (slots[0] as { fields: { o?: { t: Value } } }).fields.o?.t;
  const { documents } = await desk.update({ set: [["copy", t]], typing: as });
  expect(documents[0]?.fields).toEqual({ o: { t: "k" }, copy: "k" });
  await expect(desk.update({ set: [["copy", t]], typing: STRICT })).rejects.toThrow("is MISSING");
});

test("a written document is guarded: the write depends on what was read", async () => {
  const desk = await MutationDesk.open(HERE);
  await desk.update({ set: [["a", 2]] });
  const records = desk.store.read((view) => {
    const since = view.changesSince({ historyId: desk.store.identity.historyId, txnId: 0 });
    return since.kind === "changes" ? [...since.transactions] : [];
  });
  expect(records.at(-1)?.record.guards).toEqual([[COLLECTION, "1", records[0]?.txnId]]);
});
