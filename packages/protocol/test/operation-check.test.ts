/**
 * Operations from outside: what is accepted, what it becomes, what is refused and where.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PeerError } from "../src/error.ts";
import { type IndexKey, isDocumentOperation, type Operation } from "../src/operation.ts";
import {
  ATTACHMENT_ID_SIZE_MAX,
  checkAmount,
  checkCollection,
  checkOperation,
  checkUpload,
  INDEX_KEYS_MAX,
  NAME_SIZE_MAX,
  UPLOADER_SIZE_MAX,
} from "../src/operation-check.ts";
import { DEPTH_MAX, type Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import { isIdentical, nested, values } from "./support/values.ts";

const ON = { collection: "cars", id: 1 };

function update(...edits: unknown[]): unknown {
  return { kind: "update", ...ON, edits };
}

test("every type of upload operation is accepted with nothing added or lost", () => {
  const operations = [
    { kind: "insert", ...ON, fields: { a: 1 } },
    {
      kind: "insert",
      ...ON,
      fields: { a: 1, b: { c: 2 } },
      types: { a: "counter", b: { c: "register" } },
    },
    { kind: "insert", ...ON, fields: {}, clean: true },
    { kind: "initial", ...ON, fields: { a: null } },
    { kind: "delete", ...ON },
    update({ kind: "set", path: ["a", "b"], value: null }),
    update({ kind: "set", path: ["a"], value: { b: 1 }, types: "register" }),
    update({ kind: "set", path: ["a"], value: { b: 1 }, types: { b: "pn_counter" } }),
    update({ kind: "unset", path: ["a"] }, { kind: "unset", path: ["b", ""] }),
    update({ kind: "increment", path: ["a"], by: -1, counter: "counter" }),
    update({
      kind: "increment",
      path: ["a"],
      by: 0.5,
      counter: "pn_counter",
      birth: [5, "00000000000000aa"],
    }),
    update({ kind: "restart", path: ["a"], value: 2n ** 60n, counter: "counter" }),
  ];
  for (const operation of operations) expect(checkUpload(operation, "x")).toEqual(operation);
});

test("unknown fields of an upload operation are dropped", () => {
  expect(checkUpload({ kind: "delete", ...ON, dead: 1, site: "z" }, "x")).toEqual({
    kind: "delete",
    ...ON,
  });
  const insert = { kind: "insert", ...ON, fields: {}, clean: false };
  expect(checkUpload(insert, "x")).toEqual({ kind: "insert", ...ON, fields: {} });
  expect(checkUpload({ ...insert, kind: "initial", clean: true }, "x")).toEqual({
    kind: "initial",
    ...ON,
    fields: {},
  });
  const unset = { kind: "unset", path: ["a"], value: 1, stamp: [1, "a"] };
  expect(checkUpload(update(unset), "x")).toEqual(update({ kind: "unset", path: ["a"] }));
});

test("an edit without a counter type means a COUNTER", () => {
  expect(checkUpload(update({ kind: "increment", path: ["a"], by: 1 }), "x")).toEqual(
    update({ kind: "increment", path: ["a"], by: 1, counter: "counter" }),
  );
});

test("any error in an upload is refused with its place", () => {
  const set = { kind: "set", path: ["a"], value: 1 };
  const increment = { kind: "increment", path: ["a"], by: 1 };
  const cases: [unknown, string][] = [
    [1, "x"],
    [null, "x"],
    [{ kind: "delete", id: 1 }, "x.collection"],
    [{ kind: "delete", collection: "", id: 1 }, "x.collection"],
    [{ kind: "delete", collection: "cars" }, "x.id"],
    [{ ...ON }, "x.kind"],
    [{ kind: "merge", ...ON, state: new Uint8Array() }, "x.kind"],
    [{ kind: "evict", ...ON }, "x.kind"],
    [{ kind: "insert", ...ON }, "x.fields"],
    [{ kind: "insert", ...ON, fields: [] }, "x.fields"],
    [{ kind: "insert", ...ON, fields: {}, types: "counter" }, "x.types"],
    [{ kind: "insert", ...ON, fields: {}, types: { a: { b: "map2" } } }, "x.types.a.b"],
    [{ kind: "insert", ...ON, fields: {}, types: { a: null } }, "x.types.a"],
    [{ kind: "update", ...ON }, "x.edits"],
    [update(), "x.edits"],
    [update(set, 1), "x.edits[1]"],
    [update({ ...set, kind: "put" }), "x.edits[0].kind"],
    [update({ ...set, path: [] }), "x.edits[0].path"],
    [update({ ...set, path: "a" }), "x.edits[0].path"],
    [update({ ...set, path: ["a", 1] }), "x.edits[0].path"],
    [update({ kind: "set", path: ["a"] }), "x.edits[0].value"],
    [update({ ...set, types: "number" }), "x.edits[0].types"],
    [update({ ...set, types: { a: 1 } }), "x.edits[0].types.a"],
    [update({ ...increment, by: 0.5 }), "x.edits[0].by"],
    [update({ ...increment, by: "1" }), "x.edits[0].by"],
    [update({ ...increment, by: Number.NaN, counter: "pn_counter" }), "x.edits[0].by"],
    [update({ ...increment, by: undefined }), "x.edits[0].by"],
    [update({ ...increment, counter: "map" }), "x.edits[0].counter"],
    [update({ ...increment, birth: [1] }), "x.edits[0].birth"],
    [update({ kind: "restart", path: ["a"] }), "x.edits[0].value"],
  ];
  for (const [operation, at] of cases) {
    const error = failureOf(() => checkUpload(operation, "x"));
    expect(error.at, JSON.stringify(operation)).toBe(at);
  }
});

test("only a set of an object may omit the path: it sets each of the fields", () => {
  const whole = { kind: "set", path: [], value: { a: 1, m: { x: 1 } }, types: { a: "counter" } };
  expect(checkUpload(update(whole), "x")).toEqual(update(whole));
  expect(checkOperation(update(whole) as Operation)).toEqual(update(whole));
  const others = [
    { kind: "set", path: [], value: 1 },
    { kind: "set", path: [], value: [] },
    { ...whole, types: "register" },
    { kind: "unset", path: [] },
    { kind: "increment", path: [], by: 1 },
  ];
  for (const edit of others) {
    expect(failureOf(() => checkUpload(update(edit), "x")).at).toBe("x.edits[0].path");
    expect(() => checkOperation(update(edit) as Operation)).toThrow(PeerError);
  }
  const counter = { ...whole, types: { m: "counter" } };
  expect(failureOf(() => checkUpload(update(counter), "x")).at).toBe("x.edits[0].value.m");
  for (const path of [["a"], ["m"], ["m", "x"]]) {
    const edits = [whole, { kind: "set", path, value: 2 }];
    expect(failureOf(() => checkUpload(update(...edits), "x")).at).toBe("x.edits[1].path");
  }
  const apart = [whole, { kind: "set", path: ["m", "y"], value: 2 }];
  expect(checkUpload(update(...apart), "x")).toEqual(update(...apart));
});

test("a path that is written twice in one operation is refused: one tick cannot order them", () => {
  const twice = [
    [
      { kind: "set", path: ["a", "b"], value: 1 },
      { kind: "set", path: ["a", "b"], value: 2 },
    ],
    [
      { kind: "increment", path: ["k"], by: 1 },
      { kind: "increment", path: ["k"], by: 1 },
    ],
    [
      { kind: "restart", path: ["k"], value: 1 },
      { kind: "increment", path: ["k"], by: 1 },
    ],
    [
      { kind: "unset", path: ["k"] },
      { kind: "set", path: ["k"], value: 1 },
    ],
    [
      { kind: "unset", path: ["o"] },
      { kind: "set", path: ["o", "p"], value: 1 },
    ],
    [
      { kind: "set", path: ["o", "p"], value: 1 },
      { kind: "unset", path: ["o"] },
    ],
    [
      { kind: "set", path: ["o"], value: { p: 1 } },
      { kind: "set", path: ["o", "p"], value: 2 },
    ],
  ];
  for (const edits of twice) {
    const error = failureOf(() => checkUpload(update(...edits), "x"));
    expect([error.code, error.at]).toEqual(["operation.invalid", "x.edits[1].path"]);
  }
  const apart = [
    { kind: "set", path: ["a", "b"], value: 1 },
    { kind: "set", path: ["a", "c"], value: 2 },
    { kind: "unset", path: ["ab"] },
    { kind: "set", path: ["a\0b"], value: 1 },
  ];
  expect(checkUpload(update(...apart), "x")).toEqual(update(...apart));
});

test("[V7] everything that can be written can be uploaded: levels around it do not count", () => {
  const maps = (levels: number, inner: Value): Value =>
    levels === 0 ? inner : { a: maps(levels - 1, inner) };
  const insert = (levels: number): Operation => ({
    kind: "insert",
    ...ON,
    fields: { a: maps(levels - 1, 1) },
  });
  const marks = (levels: number): unknown => ({
    ...insert(DEPTH_MAX),
    types: maps(levels, "register"),
  });
  expect(checkOperation(insert(DEPTH_MAX))).toEqual(insert(DEPTH_MAX));
  for (const kind of ["insert", "initial"]) {
    expect(checkUpload({ ...insert(DEPTH_MAX), kind }, "x")).toEqual({
      ...insert(DEPTH_MAX),
      kind,
    });
    const failure = failureOf(() => checkUpload({ ...insert(DEPTH_MAX + 1), kind }, "x"));
    expect([failure.code, failure.at]).toEqual(["operation.invalid", "x.fields"]);
  }
  const set = (levels: number): unknown =>
    update({ kind: "set", path: ["a"], value: nested(levels, 1) });
  expect(checkUpload(set(DEPTH_MAX - 1), "x")).toEqual(set(DEPTH_MAX - 1));
  expect(failureOf(() => checkUpload(set(DEPTH_MAX), "x")).at).toBe("x.edits[0].value");
  expect(checkUpload(marks(DEPTH_MAX), "x")).toEqual(marks(DEPTH_MAX));
  expect(failureOf(() => checkUpload(marks(DEPTH_MAX + 1), "x")).at).toBe("x.types");
});

test("[V7] a path and its value together have at most 64 levels", () => {
  const path = (size: number): string[] => Array.from({ length: size }, () => "a");
  const set = (size: number, levels: number): unknown =>
    update({ kind: "set", path: path(size), value: nested(levels, 1) });
  expect(() => checkUpload(set(DEPTH_MAX, 0), "x")).not.toThrow();
  expect(() => checkUpload(set(40, 24), "x")).not.toThrow();
  expect(failureOf(() => checkUpload(set(40, 25), "x")).at).toContain("x.edits[0].value");
  for (const kind of ["set", "unset", "increment", "restart"]) {
    const edit = { kind, path: path(DEPTH_MAX + 1), value: 1, by: 1 };
    expect(failureOf(() => checkUpload(update(edit), "x")).at).toBe("x.edits[0].path");
  }
});

test("[V2] numbers in an upload are in canonical form", () => {
  expect(checkUpload(update({ kind: "set", path: ["a"], value: 7n }), "x")).toEqual(
    update({ kind: "set", path: ["a"], value: 7 }),
  );
});

test("a COUNTER counts in canonical integers, a PN_COUNTER in any finite number", () => {
  const zero = checkAmount(-0, "counter", "x");
  expect([Object.is(zero, 0), checkAmount(5n, "counter", "x")]).toEqual([true, 5]);
  expect(checkAmount(2n ** 60n, "counter", "x")).toBe(2n ** 60n);
  expect(checkAmount(2 ** 60, "counter", "x")).toBe(2n ** 60n);
  expect(checkAmount(-(2 ** 62), "counter", "x")).toBe(-(2n ** 62n));
  expect(checkAmount(2n ** 60n, "pn_counter", "x")).toBe(2 ** 60);
  expect(checkAmount(0.5, "pn_counter", "x")).toBe(0.5);
  for (const amount of [
    0.5,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "1",
    null,
    undefined,
    [1],
  ]) {
    expect(failureOf(() => checkAmount(amount, "counter", "x")).message).toContain("an integer");
  }
  for (const amount of [Number.NaN, Number.NEGATIVE_INFINITY, true]) {
    expect(failureOf(() => checkAmount(amount, "pn_counter", "x")).message).toContain("a number");
  }
});

test("a collection has a name of at most 256 characters of well-formed text", () => {
  expect(checkCollection("a".repeat(NAME_SIZE_MAX), "x")).toHaveLength(256);
  for (const name of ["", "a".repeat(257), "\ud800", 1, undefined, null]) {
    expect(failureOf(() => checkCollection(name, "x")).code).toBe("operation.invalid");
  }
});

test("an index has a name, a collection and 1 to 16 paths; an error has its place", () => {
  const key = (...path: string[]): IndexKey => ({ path, isDescending: false });
  const create = (changes: object): Operation => {
    const index = { kind: "create_index", collection: "c", name: "ix", keys: [key("a")] } as const;
    return { ...index, ...changes };
  };
  const longest = create({
    name: "n".repeat(NAME_SIZE_MAX),
    keys: Array.from({ length: INDEX_KEYS_MAX }, () => key("a", "", "\0")),
  });
  expect(checkOperation(longest)).toBe(longest);
  const drop: Operation = { kind: "drop_index", collection: "c", name: "any.thing\0" };
  const build: Operation = { kind: "build_index", collection: "c", name: "ix", limit: 1 };
  const clear: Operation = { kind: "clear_index", number: 1, limit: 1 };
  const fine = [drop, { ...drop, limit: 1 }, create({ limit: 5 }), build, clear];
  for (const operation of fine) expect(checkOperation(operation)).toBe(operation);
  const limits = [0, -1, 1.5, Number.NaN, 2 ** 53];
  const wrong: [Operation, string][] = [
    [create({ collection: "" }), "collection"],
    [create({ name: "" }), "name"],
    [create({ name: "\ud800" }), "name"],
    [create({ name: "n".repeat(NAME_SIZE_MAX + 1) }), "name"],
    [create({ keys: [] }), "keys"],
    [create({ keys: Array.from({ length: INDEX_KEYS_MAX + 1 }, () => key("a")) }), "keys"],
    [create({ keys: [key("a"), key()] }), "keys[1].path"],
    [create({ keys: [key("\ud800")] }), "keys[0].path"],
    [create({ keys: [key(...Array<string>(DEPTH_MAX + 1).fill("a"))] }), "keys[0].path"],
    [{ ...drop, collection: "" }, "collection"],
    [{ ...drop, name: "" }, "name"],
    [{ ...build, collection: "" }, "collection"],
    [{ ...build, name: "" }, "name"],
    ...limits.flatMap((limit): [Operation, string][] => [
      [create({ limit }), "limit"],
      [{ ...drop, limit }, "limit"],
      [{ ...build, limit }, "limit"],
      [{ ...clear, limit }, "limit"],
      [{ ...clear, number: limit }, "number"],
    ]),
  ];
  for (const [operation, at] of wrong) {
    expect(failureOf(() => checkOperation(operation)).at, JSON.stringify(operation)).toBe(at);
  }
  expect(failureOf(() => checkUpload(create({ id: 1 }), "x")).at).toBe("x.kind");
});

test("a content has an id, a length and an uploader; an error has its place", () => {
  const content = { kind: "attach", id: "aZ09_-", len: 0, by: "" } as const;
  const longest = "x".repeat(ATTACHMENT_ID_SIZE_MAX);
  const fine: Operation[] = [
    content,
    { ...content, id: longest, len: Number.MAX_SAFE_INTEGER, by: "é".repeat(UPLOADER_SIZE_MAX) },
    { kind: "detach", id: longest },
  ];
  for (const operation of fine) expect(checkOperation(operation)).toBe(operation);
  const wrongIds = ["", `${longest}x`, "a/b", "a.b", "a b", "é", "a\n", "a\0"];
  const wrong: [Operation, string][] = [
    ...wrongIds.flatMap((id): [Operation, string][] => [
      [{ ...content, id }, "id"],
      [{ kind: "detach", id }, "id"],
    ]),
    ...[-1, -0, 1.5, 2 ** 53, Number.NaN].map((len): [Operation, string] => [
      { ...content, len },
      "len",
    ]),
    [{ ...content, by: "x".repeat(UPLOADER_SIZE_MAX + 1) }, "by"],
    [{ ...content, by: "\ud800" }, "by"],
  ];
  for (const [operation, at] of wrong) {
    expect(failureOf(() => checkOperation(operation)).at, JSON.stringify(operation)).toBe(at);
  }
});

test("internal operations of a store are never an upload", () => {
  const indexes = ["create_index", "build_index", "drop_index", "clear_index"];
  for (const kind of ["attach", "detach", "evict", "merge", "trim", "forget_sites", ...indexes]) {
    const place = { ...ON, name: "n", number: 1 };
    const input = { kind, ...place, len: 1, by: "ann", keys: [], limit: 1, upTo: 1 };
    expect(failureOf(() => checkUpload(input, "x")).at).toBe("x.kind");
  }
});

test("operations on the store do not count as operations on a document, whatever they name", () => {
  const about: Operation[] = [
    { kind: "insert", ...ON, fields: {} },
    { kind: "delete", ...ON },
    { kind: "merge", ...ON, state: new Uint8Array() },
  ];
  const others: Operation[] = [
    { kind: "attach", id: "a", len: 1, by: "ann" },
    { kind: "detach", id: "a" },
    { kind: "drop_index", collection: "cars", name: "ix" },
    { kind: "build_index", collection: "cars", name: "ix", limit: 1 },
    { kind: "clear_index", number: 1, limit: 1 },
    { kind: "trim", upTo: 1 },
    { kind: "forget_sites", sites: [] },
  ];
  expect(about.filter(isDocumentOperation)).toEqual(about);
  expect(others.filter(isDocumentOperation)).toEqual([]);
});

test("an insert keeps any fields exactly, `__proto__` included", () => {
  fc.assert(
    fc.property(values, (value) => {
      const checked = checkUpload({ kind: "insert", ...ON, fields: { f: value } }, "x");
      expect(checked.kind === "insert" && isIdentical(checked.fields, { f: value })).toBe(true);
    }),
    { numRuns: runs(500) },
  );
  const types = JSON.parse('{"__proto__":"counter"}') as Value;
  const fields = JSON.parse('{"__proto__":5}') as Value;
  const checked = checkUpload({ kind: "insert", ...ON, fields, types }, "x");
  expect(checked.kind === "insert" && Object.keys(checked.types ?? {})).toEqual(["__proto__"]);
});

test("any input is an upload or refused with a PeerError", () => {
  const word = fc.constantFrom("insert", "update", "set", "increment", "a", "counter", "map");
  const anything = fc.oneof(
    values,
    word,
    fc.constantFrom(undefined, () => 1, Symbol("s")),
  );
  const edit = fc.record(
    { kind: fc.oneof(word, anything), path: fc.oneof(fc.array(word), anything), value: anything },
    { requiredKeys: [] },
  );
  const operation = fc.record(
    {
      kind: fc.oneof(word, anything),
      collection: fc.oneof(word, anything),
      id: anything,
      fields: anything,
      types: anything,
      edits: fc.oneof(fc.array(edit), anything),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(operation, anything), (input) => {
      try {
        checkUpload(input, "x");
      } catch (error) {
        expect(error).toBeInstanceOf(PeerError);
      }
    }),
    { numRuns: runs(3000) },
  );
});

test("the values of a local operation are checked, and a canonical operation is returned as the same object", () => {
  const operations: Operation[] = [
    { kind: "insert", ...ON, fields: { a: [1, { b: Number.NaN }] } },
    { kind: "initial", ...ON, fields: {} },
    { kind: "update", ...ON, edits: [{ kind: "set", path: ["a"], value: Number.NaN }] },
    { kind: "update", ...ON, edits: [{ kind: "unset", path: ["a"] }] },
    { kind: "delete", ...ON },
    { kind: "evict", ...ON },
    { kind: "merge", ...ON, state: new Uint8Array() },
    { kind: "catalog", section: "s", name: "n", value: null },
    { kind: "horizon", time: 1 },
    { kind: "trim", upTo: 1 },
    { kind: "forget_sites", sites: [] },
  ];
  for (const operation of operations) expect(checkOperation(operation)).toBe(operation);
  expect(checkOperation({ kind: "insert", ...ON, fields: { a: 5n } })).toEqual({
    kind: "insert",
    ...ON,
    fields: { a: 5 },
  });
  const set = { kind: "set", path: ["a"], value: [5n] } as const;
  expect(checkOperation({ kind: "update", ...ON, edits: [set] })).toEqual(
    update({ ...set, value: [5] }),
  );
});

test("[V7] data that is not a value in a local operation is refused with its place", () => {
  const long = "x".repeat(NAME_SIZE_MAX + 1);
  const set = { kind: "set", path: ["a", "b"], value: 2n ** 64n } as const;
  const cases: [Operation, string][] = [
    [{ kind: "insert", ...ON, fields: { a: "\ud800" } }, "fields.a"],
    [{ kind: "insert", ...ON, collection: long, fields: {} }, "collection"],
    [{ kind: "update", ...ON, edits: [set] }, "a.b"],
    [{ kind: "update", ...ON, edits: [{ kind: "unset", path: ["\udc00"] }] }, "path"],
    [{ kind: "catalog", section: long, name: "n", value: null }, "section"],
    [{ kind: "catalog", section: "s", name: long, value: null }, "name"],
    [{ kind: "merge", ...ON, collection: "", state: new Uint8Array() }, "collection"],
  ];
  for (const [operation, at] of cases)
    expect(failureOf(() => checkOperation(operation)).at).toBe(at);
});
