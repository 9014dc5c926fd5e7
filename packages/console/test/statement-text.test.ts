/**
 * Texts around a statement, and what its result is about.
 */
import { expect, test } from "vitest";
import { fieldPaths } from "../src/values/field-paths.ts";
import { placeIn } from "../src/values/message-place.ts";
import { columnsOf, isNumberColumn, readResult } from "../src/values/statement-result.ts";
import {
  addMissing,
  collectionOf,
  readArguments,
  withLimit,
  withoutPrefix,
  withPrefix,
} from "../src/values/statement-text.ts";

test.each([
  ["SELECT 1", "EXPLAIN SELECT 1"],
  ["explain SELECT 1", "EXPLAIN SELECT 1"],
  ["PROFILE\n  SELECT 1", "EXPLAIN SELECT 1"],
  ["ADVISE AND PROVISION SELECT 1", "EXPLAIN SELECT 1"],
])("one prefix takes the place of another: %j", (text, expected) => {
  expect(withPrefix(text, "EXPLAIN")).toBe(expected);
});

test("EXPLAIN SYNC is a statement of its own", () => {
  const text = "EXPLAIN SYNC cars, 'a' FOR :peer";
  expect(withoutPrefix(text)).toBe(text);
});

test("a limit stands behind a comment", () => {
  expect(withLimit("SELECT a FROM b -- c", 10)).toBe("SELECT a FROM b -- c\nLIMIT 10");
});

test("arguments are a JSON object or nothing", () => {
  expect(readArguments(" ")).toEqual({ args: {}, fault: undefined });
  expect(readArguments('{"a": 1}')).toEqual({ args: { a: 1 }, fault: undefined });
  expect(readArguments("[1]").fault).toContain("expected a JSON object");
  expect(readArguments("{").fault).toBeDefined();
});

test("missing arguments are added with null, and the others stay", () => {
  expect(JSON.parse(addMissing('{"a": 1}', ["a", "b"]))).toEqual({ a: 1, b: null });
  expect(addMissing("{", ["a"])).toBe("{");
});

test("the place of a message is an index of the text", () => {
  const text = "SELECT\n '🐟', x y z FROM";
  const place = placeIn("expected a comma at line 2, column 11, near `z` (query.syntax)", text);
  expect(text.slice(place)).toBe("z FROM");
  expect(placeIn("disk full", text)).toBeUndefined();
});

test.each([
  ["SELECT * FROM cars WHERE a = 1", "cars"],
  ["UPDATE `my cars` SET a = 1", "my cars"],
  ["SELECT * FROM cars JOIN shops ON a = b", undefined],
  ["SELECT * FROM system:indexes", undefined],
  ["SHOW ALL", undefined],
])("rows of %j are documents of %s", (text, expected) => {
  expect(collectionOf(text)).toBe(expected);
});

test("a plan and advice are told from rows", () => {
  const plan = { plan: { "#operator": "sequence", children: [{ "#operator": "limit" }] } };
  expect(readResult([plan]).plan).toHaveLength(1);
  // A field may have that name.
  expect(readResult([{ plan: { name: "free" } }]).plan).toBeUndefined();
  const index = { collection: "a", reason: "equality on b", statement: "CREATE INDEX …" };
  expect(readResult([{ advice: { suggestedIndexes: [index] } }]).advice).toEqual({
    existing: [],
    suggested: [index],
    outcome: undefined,
  });
  const profile = { "~request_profile": { plan: plan.plan, times: {}, resultCount: 1 } };
  expect(readResult([{ a: 1 }, profile])).toMatchObject({ rows: [{ a: 1 }], plan: [{}] });
});

test("columns are all fields of the rows, the id first", () => {
  const rows = [{ a: 1 }, { b: null, _id: "x", a: 2 }, "text"];
  expect(columnsOf(rows)).toEqual(["_id", "a", "b"]);
  expect(["a", "b", "_id"].map((name) => isNumberColumn(rows, name))).toEqual([true, false, false]);
  expect(columnsOf([1, 2])).toEqual([]);
});

test("fields have paths into objects, with names quoted where they must be", () => {
  const documents = [{ _id: 1, owner: { "home city": "Oslo", tags: [{ a: 1 }] } }, { year: 1 }];
  expect(fieldPaths(documents)).toEqual([
    "_id",
    "owner",
    "owner.`home city`",
    "owner.tags",
    "year",
  ]);
});
