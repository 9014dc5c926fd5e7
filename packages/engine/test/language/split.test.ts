/**
 * Splitting a text into statements, and the one at a position.
 */

import { expect, test } from "vitest";
import { split, splitStatements, statementAt } from "../../src/language/split.ts";

test.each([
  ["SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]],
  ["SELECT 'a;b'; ", ["SELECT 'a;b'"]],
  ['SELECT "it\\";s" AS x;', ['SELECT "it\\";s" AS x']],
  ["SELECT `a;b` FROM c", ["SELECT `a;b` FROM c"]],
  ["-- no;\nSELECT 1 /* ; */;\n;;", ["-- no;\nSELECT 1 /* ; */"]],
  ["-- nothing;\n", []],
])("statements end with a semicolon outside of texts, names and comments: %j", (text, expected) => {
  const found = splitStatements(text);
  expect(found.map((statement) => statement.text)).toEqual(expected);
  expect(found.map(({ at, end }) => text.slice(at, end))).toEqual(expected);
});

test("an unfinished text or comment keeps the statement open, and lines are counted", () => {
  expect(split("SELECT 'a;\n")).toEqual({ statements: [], rest: "SELECT 'a;\n" });
  expect(split("/* a;").statements).toEqual([]);
  const lines = splitStatements("SELECT 1;\n\n SELECT 2;").map(({ line }) => line);
  expect(lines).toEqual([1, 3]);
});

test.each([
  [0, "SELECT 1"],
  [8, "SELECT 1"],
  [9, "SELECT 1"],
  [11, "SELECT 2"],
  [40, "SELECT 2"],
])("the statement at %d is %s", (position, expected) => {
  expect(statementAt("SELECT 1;\n SELECT 2\n", position)?.text).toBe(expected);
});

test("an empty text has no statement", () => {
  expect(statementAt(" \n-- nothing", 1)).toBeUndefined();
});
