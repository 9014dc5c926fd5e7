/**
 * What a text says about its statement before it runs, and the place of a syntax error.
 */

import { expect, test } from "vitest";
import { findMistake, outlineStatement } from "../../src/language/statement-outline.ts";

test.each([
  ["SELECT a FROM b c d", "d", "expected"],
  ["SELECT a, FROM b", "FROM", "expected"],
  ["SELECT a FROM b WHERE", "", "found the end"],
  ["SELECT 'a FROM b", "'a FROM b", "after this string"],
])("a syntax error has its place: %s", (text, marked, reason) => {
  const found = findMistake(text);
  expect(text.slice(found?.at, found?.end)).toBe(marked);
  expect(found?.message).toContain(reason);
});

test.each([
  ["SELECT lenght(a) FROM b", "lenght", "unknown function 'lenght'; did you mean length?"],
  ["EXPLAIN UPDATE a SET b = c(1)", "c", "unknown function 'c'"],
  ["SELECT a FROM b WHERE d IN (SELECT RAW e(1) FROM f x)", "e", "unknown function 'e'"],
])("an unknown function has its place: %s", (text, marked, message) => {
  const found = findMistake(text);
  expect(text.slice(found?.at, found?.end)).toBe(marked);
  expect(found?.message).toBe(message);
});

test("a statement with known functions in any case has no mistake", () => {
  expect(
    findMistake("SELECT COUNT(*), Coalesce(a, 1), filter_contains(a, 1) FROM b"),
  ).toBeUndefined();
});

test("a statement has none", () => {
  expect(findMistake("SELECT a FROM b WHERE c = :d;")).toBeUndefined();
});

test.each([
  ["DELETE FROM cars", { verb: "DELETE", collection: "cars" }],
  ["EVICT FROM cars", { verb: "EVICT", collection: "cars" }],
  ["UPDATE cars SET a = 1", { verb: "UPDATE", collection: "cars" }],
  ["PROFILE DELETE FROM cars LIMIT 5", { verb: "DELETE", collection: "cars", limit: 5 }],
])("a write without a condition changes every document: %s", (text, expected) => {
  expect(outlineStatement(text)?.wholeCollection).toEqual(expected);
});

test.each([
  "DELETE FROM cars WHERE a = 1",
  "UPDATE cars USE IDS 'a' SET b = 1",
  "EXPLAIN DELETE FROM cars",
  "ADVISE DELETE FROM cars",
  "SELECT * FROM cars",
])("other statements do not: %s", (text) => {
  expect(outlineStatement(text)).toBeDefined();
  expect(outlineStatement(text)?.wholeCollection).toBeUndefined();
});

test("the outline has the kind, the prefix and each parameter once", () => {
  const text = "EXPLAIN SELECT :a FROM b WHERE c = :d OR e IN (SELECT f FROM g WHERE h = :a)";
  expect(outlineStatement(text)).toEqual({
    kind: "select",
    prefix: "explain",
    parameters: ["a", "d"],
    isUnlimited: true,
  });
  expect(outlineStatement("SELEC")).toBeUndefined();
});

test.each([
  ["SELECT a FROM b", true],
  ["SELECT a FROM b UNION SELECT c FROM d", true],
  ["SELECT a FROM b LIMIT 3", false],
  ["SELECT a FROM b OFFSET 3", false],
  ["DELETE FROM b", false],
])("%s: without a limit is %s", (text, expected) => {
  expect(outlineStatement(text)?.isUnlimited).toBe(expected);
});
