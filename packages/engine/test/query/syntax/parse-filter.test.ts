/**
 * Filters: which condition of the statement language each of them means. A sign means the same
 * whatever stands beside it.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { parseFilter, parseFilterPath } from "../../../src/query/syntax/parse-filter.ts";
import { parseCondition } from "../../../src/query/syntax/parse-statement.ts";
import { printExpression } from "../../../src/query/syntax/print.ts";
import type { Expression } from "../../../src/query/syntax/tree.ts";
import { eachChild } from "../../../src/query/syntax/tree-walk.ts";
import { anyExpression } from "./generated-tree.ts";
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

test("a comparison with the word null tests whether there is a value", () => {
  expect(filter("a == null")).toEqual(condition("a IS NULL OR a IS MISSING"));
  expect(filter("null == a.b")).toEqual(condition("a.b IS NULL OR a.b IS MISSING"));
  expect(filter("a != null")).toEqual(condition("a IS NOT NULL AND a IS NOT MISSING"));
  expect(filter("a > null")).toEqual(condition("a > null"));
  expect(filter("a == :p")).toEqual(condition("a = :p"));
});

test.each([
  ["a == null || b IS NULL", "(a IS NULL OR a IS MISSING) OR b IS NULL"],
  ["a IS NOT MISSING && b != null", "a IS NOT MISSING AND (b IS NOT NULL AND b IS NOT MISSING)"],
  ["a == 'x' || a IN ('y')", "a = 'x' OR a IN ['y']"],
  ["contains(['a', 'b'], c) AND TRUE", "filter_contains(['a', 'b'], c) AND TRUE"],
  ["contains(a, 'x') AND CASE WHEN b = 1 THEN c END", null],
  ["a && b OR c && !d", "(a AND b) OR (c AND NOT d)"],
  ["a or b || c", "(a OR b) OR c"],
  ["not a and NOT (b == 1)", "NOT a AND NOT (b = 1)"],
  ["! a LIKE 'x%'", "NOT (a LIKE 'x%')"],
  ["a == 1 && b NOT LIKE 'x!%' ESCAPE '!'", "a = 1 AND b NOT LIKE 'x!%' ESCAPE '!'"],
  ["a ilike 'x' || b SIMILAR TO 'y'", "a ILIKE 'x' OR b SIMILAR TO 'y'"],
  ["a BETWEEN 1 AND 2 AND b == 3", "a BETWEEN 1 AND 2 AND b = 3"],
  ["a NOT BETWEEN $args.x AND :y && b", "a NOT BETWEEN :x AND :y AND b"],
  ["a == 1 || 'x' IN b.c", "a = 1 OR 'x' IN b.c"],
  ["a NOT IN ['x'] && b", "a NOT IN ['x'] AND b"],
  ["a IN $args.list || b IS UNKNOWN", "a IN :list OR b IS NULL"],
  ["a = null || b <> null", "a = NULL OR b != NULL"],
  ["a + 1 == b * -2 && !c", "a + 1 = b * -2 AND NOT c"],
  ["a == !b", "a = (NOT b)"],
  ["(a).b[c + 1] == 2 && d", "a.b[c + 1] = 2 AND d"],
  ["ANY t IN ['x'] SATISFIES t == a || t == null END", null],
  [`["x-y"] IN [1] || ["x-y"] LIKE ["a"].b`, "`x-y` IN [1] OR `x-y` LIKE a.b"],
  [`CASE WHEN ["a"] == 1 THEN ['c'] END == d`, "CASE WHEN a = 1 THEN ['c'] END = d"],
  ["in == 1 && as.b == 2 && array[0] == 3", "`in` = 1 AND `as`.b = 2 AND `array`[0] = 3"],
])("%s: each operator has its own meaning", (text, meaning) => {
  const meant =
    meaning ??
    text
      .replace("contains", "filter_contains")
      .replace("t == a || t == null", "t = a OR (t IS NULL OR t IS MISSING)");
  expect(filter(text)).toEqual(condition(meant));
});

test("an expression that is more than a path is compared with null once", () => {
  expect(filter("(a || b) == null")).toEqual(condition("coalesce(a OR b, NULL) IS NULL"));
  expect(filter("lower(a) != null")).toEqual(condition("coalesce(lower(a), NULL) IS NOT NULL"));
  // Copies of copies would be more than fit into any memory.
  parseFilter(`a${" == null".repeat(100)}`);
  parseFilter(`${"(".repeat(100)}a${" == null)".repeat(100)}`);
});

test.each([
  "a = 1",
  "a LIKE 'x%' AND b IN [1, 2]",
  "NOT (a = 1)",
  "not (a == 1)",
  "a == 1 OR b == 2",
  "qty * 2 > 3",
  "ANY t IN tags SATISFIES t = 'x' END",
  "ANY AND EVERY i : t WITHIN tags SATISFIES t = 'x' AND i > 0 END",
  "a IS MISSING",
  "CAST(a AS INT) = 1",
  "TRIM(BOTH 'x' FROM a) = 'y'",
  "POSITION('x' IN a) = 0 AND SUBSTRING(a FROM 1 FOR 2) = 'y'",
  "a[b] = 1",
  "a[-1] = 1",
  "CASE a WHEN 1 THEN b ELSE c END",
  "ARRAY t.x FOR t IN tags WHEN t.y END = [1]",
])("%s is a condition of the statement language, and means the same", (text) => {
  expect(filter(text)).toEqual(condition(text));
});

/** Whether all in it is written and meant alike in both languages. */
function isShared(tree: Expression): boolean {
  let isAlike = true;
  const look = (node: Expression): void => {
    isAlike &&= !DIFFERENT[node.kind]?.(node);
    eachChild(node, look);
  };
  look(tree);
  return isAlike;
}

type Look = (node: Expression) => boolean;
const DIFFERENT: Partial<Record<Expression["kind"], Look>> = {
  array: () => true,
  object: () => true,
  missing: () => true,
  subquery: () => true,
  element: (node) => node.kind === "element" && node.index.kind === "literal",
  call: (node) => node.kind === "call" && ["contains", "regex"].includes(node.name),
  binary: (node) => node.kind === "binary" && (node.operator === "||" || node.operator === "!="),
};

test("a condition without filter-specific operators means the same in both languages", () => {
  let read = 0;
  const law = fc.property(anyExpression.filter(isShared), (tree) => {
    const text = printExpression(tree);
    expect(filter(text)).toEqual(condition(text));
    read++;
  });
  fc.assert(law, { numRuns: sized(300, 1_000) });
  expect(read).toBe(sized(300, 1_000));
});

test.each([
  ["a == ", 5, "expected a field or a value, found the end"],
  ["a = ", 4, "expected a field or a value, found the end"],
  ["a == 1 && b LIKES 'x'", 12, "expected an operator or the end of the filter"],
  ["a == 1 && && b", 10, 'expected a field or a value, found "&&"'],
  ["a == 1 AND AND b", 11, 'expected a field or a value, found "AND"'],
  ["a == 1 AND (b || IN (1))", 17, 'expected a field or a value, found "IN"'],
  ["a == null || b IS NOTHING", 18, "expected NOT, NULL or MISSING"],
  ["a BETWEEN 1 && 2", 12, 'expected AND, found "&&"'],
  ["a NOT == 1", 2, 'expected an operator or the end of the filter, found "NOT"'],
  ["a IN (1, 2", 10, 'expected an operator, "," or ")", found the end'],
  ["$foo", 1, 'expected args, found "foo"'],
  ["a == 1 && b[$x] == 2", 13, 'expected args, found "x"'],
  ["a -> b && c", 2, 'expected an operator or the end of the filter, found "->"'],
  ["", 0, "expected a field or a value, found the end"],
  ["a == 'x", 5, "expected ' after this string"],
])("%s is refused, with the place", (text, offset, message) => {
  const fault = faultOf(text, parseFilter);
  expect(fault).toMatchObject({ code: "query.syntax", offset });
  expect(fault.message).toContain(message);
});

test.each([
  ["first || ' ' || last = 'x y'", 6],
  ["'x' || b == 1", 4],
  ["a OR b || ('x')", 7],
])("%s: text next to || gets a hint that || does not join texts", (text, offset) => {
  const { code, message, offset: at } = faultOf(text, parseFilter);
  expect([code, at]).toEqual(["query.semantic", offset]);
  expect(message).toBe("|| is OR in a filter; write concat(a, b) to join texts");
});

test("a path alone is parsed as in a filter", () => {
  expect(withoutPlaces(parseFilterPath("a.b['x-y'][0]"))).toEqual(condition("a.b.`x-y`[0]"));
  expect(withoutPlaces(parseFilterPath(`["x-y"].a`))).toEqual(condition("`x-y`.a"));
  expect(withoutPlaces(parseFilterPath("null"))).toEqual({ kind: "name", name: "null" });
  for (const text of ["", "a b", "a.", "a + 1", "['a', 'b']", "1", "a[-1]"]) {
    expect(faultOf(text, parseFilterPath).code).toBe("query.syntax");
  }
});

test("long and deep filters are refused without a stack overflow", () => {
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
