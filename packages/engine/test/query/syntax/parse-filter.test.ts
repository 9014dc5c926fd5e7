/**
 * Filters: each means what a condition of the statement language means, and is read as one where
 * the small language ends.
 */
import { expect, test } from "vitest";
import { parseFilter, parseFilterPath } from "../../../src/query/syntax/parse-filter.ts";
import { parseCondition } from "../../../src/query/syntax/parse-statement.ts";
import { faultOf } from "./parsed.ts";
import { withoutPlaces } from "./tree-places.ts";

function filter(text: string): unknown {
  return withoutPlaces(parseFilter(text));
}

function condition(text: string): unknown {
  return withoutPlaces(parseCondition(text));
}

test.each([
  ["true", "true"],
  ["color == 'blue'", "color = 'blue'"],
  [`a != "x" && b < 1 || c >= -2.5`, "(a != 'x' AND b < 1) OR c >= -2.5"],
  ["a || b && c", "a OR (b AND c)"],
  ["(a || b) && c", "(a OR b) AND c"],
  ["!a", "NOT a"],
  ["!a == b", "NOT (a = b)"],
  ["!(a && !b)", "NOT (a AND NOT b)"],
  ["a == b", "a = b"],
  ["a.b.c <= 1", "a.b.c <= 1"],
  ["a['x-y'].b[0] == 1", "a.`x-y`.b[0] = 1"],
  [`["x-y"] == 1`, "`x-y` = 1"],
  [`["a"]["0"] == 1`, "a.`0` = 1"],
  [`1 == ["a"][0]`, "1 = a[0]"],
  ["tags == ['a']", "tags = ['a']"],
  ["tags == []", "tags = []"],
  ["a == {'b': 1}", "a = {'b': 1}"],
  ["_id == $args.x", "_id = :x"],
  ["_id == $args['x y'].z", "_id = :`x y`.z"],
  ["_id == :x", "_id = :x"],
  ["_id.sub > :x.y[1]", "_id.sub > :x.y[1]"],
  ["at > '2026-01-01T00:00:00Z'", "at > '2026-01-01T00:00:00Z'"],
  ["starts_with(a.b, 'x')", "starts_with(a.b, 'x')"],
  ["beginsWith(a, 'x') && endsWith(a, 'y')", "starts_with(a, 'x') AND ends_with(a, 'y')"],
  ["regex(a, '^x')", "regexp_like(a, '^x')"],
  ["contains(tags, 'x')", "filter_contains(tags, 'x')"],
  ["contains(['a'], color)", "filter_contains(['a'], color)"],
  ["contains([], _id)", "filter_contains([], _id)"],
  [`ends_with(["x-y"], 'z')`, "ends_with(`x-y`, 'z')"],
  ["length(a) > 1", "length(a) > 1"],
  ["id == 1", "id = 1"],
  ["from == 1 && order", "`from` = 1 AND `order`"],
])("%s means %s", (text, meaning) => {
  expect(filter(text)).toEqual(condition(meaning));
});

test("a comparison with the word null asks whether there is a value", () => {
  expect(filter("a == null")).toEqual(condition("a IS NULL OR a IS MISSING"));
  expect(filter("null == a.b")).toEqual(condition("a.b IS NULL OR a.b IS MISSING"));
  expect(filter("a != null")).toEqual(condition("a IS NOT NULL AND a IS NOT MISSING"));
  expect(filter("a > null")).toEqual(condition("a > null"));
  expect(filter("a == :p")).toEqual(condition("a = :p"));
});

test.each([
  "a = 1",
  "a LIKE 'x%' AND b IN [1, 2]",
  "NOT (a = 1)",
  "not (a == 1)",
  "a == 1 OR b == 2",
  "qty * 2 > 3",
  "ANY t IN tags SATISFIES t = 'x' END",
  "a IS MISSING",
  "CAST(a AS INT) = 1",
  "TRIM(BOTH 'x' FROM a) = 'y'",
  "a[b] = 1",
])("%s is a condition of the statement language, and is taken as one", (text) => {
  expect(filter(text)).toEqual(condition(text));
});

test.each([
  ["a == ", 5, "expected a field or a value, found the end"],
  ["a = ", 4, "expected an expression, found the end"],
  [
    "a == 1 && b LIKE 'x'",
    12,
    'expected a comparison, "&&", "||" or the end of the filter, found "LIKE"',
  ],
  ["a = 1 AND b == 2 && c", 17, 'expected an operator or the end of the condition, found "&&"'],
  ["$foo", 1, 'expected args, found "foo"'],
  ["a == 1 && b[$x] == 2", 12, "expected a number or the name of a field as a string"],
  ["", 0, "expected a field or a value, found the end"],
  ["a == 'x", 5, "expected ' after this string"],
])("%s: the fault is that of the language that got further", (text, offset, message) => {
  const fault = faultOf(text, parseFilter);
  expect(fault).toMatchObject({ code: "query.syntax", offset });
  expect(fault.message).toContain(message);
});

test("a path by itself is read as in a filter", () => {
  expect(withoutPlaces(parseFilterPath("a.b['x-y'][0]"))).toEqual(condition("a.b.`x-y`[0]"));
  expect(withoutPlaces(parseFilterPath(`["x-y"].a`))).toEqual(condition("`x-y`.a"));
  expect(withoutPlaces(parseFilterPath("null"))).toEqual({ kind: "name", name: "null" });
  for (const text of ["", "a b", "a.", "a + 1", "['a', 'b']", "1", "a[-1]"]) {
    expect(faultOf(text, parseFilterPath).code).toBe("query.syntax");
  }
});

test("long and deep filters are refused, not run into", () => {
  const long = 100_000;
  for (const text of [
    "(".repeat(long),
    "!".repeat(long),
    `a${".b".repeat(long)}`,
    `a${"||a".repeat(long)}`,
  ]) {
    expect(faultOf(text, parseFilter).code).toBe("query.too_large");
  }
  expect(filter(`a${"||a".repeat(9_999)}`)).toEqual(condition(`a${" OR a".repeat(9_999)}`));
});
