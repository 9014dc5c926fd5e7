/**
 * Expressions of the statement language: how they are grouped, and what is refused at once.
 *
 * Groupings are shown as text with all parentheses, see `grouped`.
 */
import { expect, test } from "vitest";
import { Fault } from "../../../src/query/fault.ts";
import { parseCondition } from "../../../src/query/syntax/parse-statement.ts";
import { printExpression } from "../../../src/query/syntax/print.ts";
import type { Expression } from "../../../src/query/syntax/tree.ts";
import { mapChildren } from "../../../src/query/syntax/tree-walk.ts";
import { Float } from "../../../src/query/value/datum.ts";
import { withoutPlaces } from "./tree-places.ts";

/** The expression with parentheses around each operator: `a + (b * c)`. */
function grouped(text: string): string {
  const wrap = (node: Expression): Expression => {
    const inner = mapChildren(node, wrap);
    const isOperator = /^(binary|unary|is|in|between|like)$/.test(node.kind);
    if (!isOperator) return inner;
    // A name that is printed as it stands.
    return { kind: "slot", at: 0, slot: 0, holds: "value", name: `(${printExpression(inner)})` };
  };
  return printExpression(wrap(parseCondition(text))).replace(/^\((.*)\)$/s, "$1");
}

function tree(text: string): unknown {
  return withoutPlaces(parseCondition(text));
}

function fault(text: string): Fault {
  try {
    parseCondition(text);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error(`${text} was read`);
}

test.each([
  ["a + b * c - d", "(a + (b * c)) - d"],
  ["a - b - c", "(a - b) - c"],
  ["a || b + c", "(a || b) + c"],
  ["a || b = c || d", "(a || b) = (c || d)"],
  ["1 < 2 < 3", "(1 < 2) < 3"],
  ["1 = 1 = true", "(1 = 1) = true"],
  ["a = b IS NULL", "(a = b) IS NULL"],
  ["a IS NULL = b", "(a IS NULL) = b"],
  ["a LIKE b = c", "a LIKE (b = c)"],
  ["a = b LIKE c", "(a = b) LIKE c"],
  ["NOT a = b", "NOT (a = b)"],
  ["NOT a IS NULL", "NOT (a IS NULL)"],
  ["NOT a AND b", "(NOT a) AND b"],
  ["a = NOT b", "a = (NOT b)"],
  ["a OR b AND c", "a OR (b AND c)"],
  ["(a OR b) AND c", "(a OR b) AND c"],
  ["a BETWEEN b + 1 AND c + 2 AND d", "(a BETWEEN (b + 1) AND (c + 2)) AND d"],
  ["NOT a BETWEEN 1 AND 2", "NOT (a BETWEEN 1 AND 2)"],
  ["a + 1 IN [2] AND b", "((a + 1) IN [2]) AND b"],
  ["a IN b = c", "(a IN b) = c"],
  ["-a * b", "(-a) * b"],
  ["a * -b", "a * (-b)"],
  ["-a.b[0]", "-a.b[0]"],
  ["a LIKE b ESCAPE c AND d", "(a LIKE b ESCAPE c) AND d"],
])("%s is grouped as %s", (text, expected) => {
  expect(grouped(text)).toBe(expected);
});

test("equivalent spellings make the same tree", () => {
  expect(tree("a <> b")).toEqual(tree("a != b"));
  expect(tree("a == b")).toEqual(tree("a = b"));
  expect(tree("a is unknown")).toEqual(tree("a IS NULL"));
  expect(tree("a IN (b, 1)")).toEqual(tree("a IN [b, 1]"));
  expect(tree("a NOT IN (:list)")).toEqual(tree("a NOT IN [:list]"));
  expect(tree("[1, 2,]")).toEqual(tree("[1, 2]"));
  expect(tree("{'a': 1,}")).toEqual(tree("{'a': 1}"));
  expect(tree(": p")).toEqual(tree(":`p`"));
  expect(tree("Upper(a)")).toEqual(tree("`UPPER`(a)"));
  expect(tree("upper(text => a)")).toEqual(tree("upper(a)"));
  expect(tree("count(ALL a)")).toEqual(tree("count(a)"));
});

test("forms with inner keywords, such as TRIM(BOTH … FROM …), are calls", () => {
  expect(tree("TRIM(BOTH 'x' FROM a)")).toEqual(tree("trim(a, 'x')"));
  expect(tree("TRIM('x' FROM a)")).toEqual(tree("trim(a, 'x')"));
  expect(tree("TRIM(LEADING 'x' FROM a)")).toEqual(tree("ltrim(a, 'x')"));
  expect(tree("TRIM(TRAILING 'x' FROM a)")).toEqual(tree("rtrim(a, 'x')"));
  expect(tree("TRIM(BOTH FROM a)")).toEqual(tree("trim(a)"));
  expect(tree("TRIM(LEADING FROM a)")).toEqual(tree("ltrim(a)"));
  expect(tree("SUBSTRING(a FROM 1 FOR 2)")).toEqual(tree("substring(a, 1, 2)"));
  expect(tree("SUBSTRING(a FROM 1)")).toEqual(tree("substring(a, 1)"));
  expect(tree("SUBSTRING(a FOR 2)")).toEqual(tree("substring(a, 0, 2)"));
  expect(tree("POSITION(a IN b)")).toEqual(tree("position(a, b)"));
  expect(tree("position(a || b, c)")).toMatchObject({ kind: "call", args: [{}, {}] });
});

test("CAST with AS has a type, with a comma it is a call", () => {
  expect(tree("CAST(a AS INT)")).toEqual({
    kind: "cast",
    operand: { kind: "name", name: "a" },
    type: "integer",
  });
  expect(tree("cast(a, 'int')")).toMatchObject({ kind: "call", name: "cast" });
});

test("a call may have a star, DISTINCT, both or nothing", () => {
  expect(tree("count(*)")).toEqual({ kind: "call", name: "count", args: [], isStar: true });
  expect(tree("count(DISTINCT *)")).toMatchObject({ isStar: true, isDistinct: true });
  expect(tree("count(distinct a)")).toMatchObject({ isDistinct: true, args: [{ name: "a" }] });
  expect(tree("f()")).toEqual({ kind: "call", name: "f", args: [] });
});

test("the sign of a number is part of it", () => {
  expect(tree("-7")).toEqual({ kind: "literal", value: -7 });
  expect(tree("- (2.5)")).toEqual({ kind: "literal", value: -2.5 });
  expect(tree("+7")).toEqual({ kind: "literal", value: 7 });
  expect(tree("-0")).toEqual({ kind: "literal", value: 0 });
  expect(tree("-0.0")).toEqual({ kind: "literal", value: new Float(-0) });
  expect(tree("-9223372036854775808")).toEqual({ kind: "literal", value: -(2n ** 63n) });
  expect(tree("-9223372036854775809")).toEqual({ kind: "literal", value: new Float(-(2 ** 63)) });
  expect(tree("-(-a)")).toMatchObject({ kind: "unary", operand: { kind: "unary" } });
  expect(tree("+'5'")).toMatchObject({ kind: "unary", operator: "+" });
});

test("most keywords can name a field without quotes, where nothing else can be meant", () => {
  for (const word of ["select", "value", "desc", "date", "count", "set", "id", "any", "array"]) {
    expect(tree(`${word} = 1`)).toMatchObject({ left: { kind: "name", name: word } });
  }
  for (const word of ["order", "group", "limit", "end", "from", "where"]) {
    expect(tree(`${word} = 1`)).toMatchObject({ left: { kind: "name", name: word } });
    expect(tree(`a.${word}.${word}`)).toMatchObject({ kind: "field", name: word });
    expect(tree(`:${word}`)).toMatchObject({ kind: "parameter", name: word });
  }
  expect(tree("CASE a WHEN 1 THEN limit ELSE order END")).toMatchObject({ kind: "case" });
});

test("quantifiers and comprehensions bind a value, and a position on request", () => {
  expect(tree("ANY AND EVERY i : v WITHIN a SATISFIES v = i END")).toEqual({
    kind: "quantifier",
    quantifier: "any_and_every",
    binding: { position: "i", value: "v", isDeep: true, source: { kind: "name", name: "a" } },
    condition: tree("v = i"),
  });
  expect(tree("OBJECT k : -v FOR k : v IN a WHEN v > 1 END")).toMatchObject({
    kind: "comprehension",
    key: { name: "k" },
    binding: { position: "k", value: "v", isDeep: false },
    condition: { kind: "binary" },
  });
  expect(tree("ARRAY -x FOR x IN a END")).toMatchObject({ kind: "comprehension" });
});

test("nodes have the place where they start", () => {
  expect(parseCondition("  a.b + (c = :d)")).toMatchObject({
    at: 2,
    left: { at: 2, of: { at: 2 } },
    right: { at: 9, left: { at: 9 }, right: { at: 13 } },
  });
});

test.each([
  ["(1, 2)", "a list in parentheses stands only after IN"],
  ["a -> b", "the operator -> is not supported"],
  ["a IS TRUE", "IS TRUE is not supported"],
  ["a IS NOT DISTINCT FROM b", "IS DISTINCT is not supported"],
  ["{'a': 1, 'a': 2}", 'the key "a" stands twice'],
  ["{1: 2}", "the key of an object is a string"],
  ["{(:k): 1}", "stands without parentheses"],
  ["- -1", "at most one sign"],
  ["+ +1", "at most one sign"],
  ["-(-7)", "at most one sign"],
  ["-null", "- stands before a number or a field"],
  ["- 'x'", "- stands before a number or a field"],
  ["a.f(1)", "the name of a function is a single word"],
  ["f() OVER (ORDER BY a)", "window functions are not supported"],
  ["a = (SELECT b FROM c)", "a SELECT inside an expression stands only after IN or EXISTS"],
  ["a IN (1, SELECT b FROM c)", "a SELECT inside an expression stands only after IN or EXISTS"],
  ["EXISTS (b)", "expected a SELECT in the parentheses after EXISTS"],
])("%s can be parsed but has no meaning: %s", (text, message) => {
  expect(fault(text)).toMatchObject({ code: "query.semantic" });
  expect(fault(text).message).toContain(message);
});

test.each([
  ["a 1", 'expected an operator or the end of the condition, found "1"'],
  ["a = ", "expected an expression, found the end"],
  ["(a", 'expected an operator or ")", found the end'],
  ["a IN ()", 'expected an expression, found ")"'],
  ["a BETWEEN 1", "expected AND, found the end"],
  ["CASE END", 'expected WHEN, found "END"'],
  ["CASE WHEN a THEN b", "expected an operator, WHEN, ELSE or END, found the end"],
  ["ANY x [1]", 'expected WITHIN or IN, found "["'],
  ["a IS 1", 'expected NOT, NULL or MISSING, found "1"'],
  ["[1 2]", 'expected an operator, "," or "]", found "2"'],
  ["'it''s'", "found 's'; a quote inside a string is written with a backslash before it"],
  ["é = 1", 'expected an expression, found "é", which a name may hold only in backticks'],
])("%s is refused: %s", (text, message) => {
  expect(fault(text)).toMatchObject({ code: "query.syntax" });
  expect(fault(text).message).toContain(message);
});

const LONG = 100_000;

test.each([
  ["parentheses", "(".repeat(LONG)],
  ["arrays", "[".repeat(LONG)],
  ["objects", "{'a':".repeat(LONG)],
  ["calls", "f(".repeat(LONG)],
  ["NOT", "NOT ".repeat(LONG)],
  ["signs", "- ".repeat(LONG)],
  ["CASE", "CASE WHEN ".repeat(LONG)],
  ["ANY", "ANY x IN [1] SATISFIES ".repeat(20_000)],
  ["a chain of sums", `a${"+a".repeat(LONG)}`],
  ["a chain of comparisons", `a${"=a".repeat(LONG)}`],
  ["a chain of IS", `a${" IS NULL".repeat(LONG)}`],
  ["a long path", `a${".b".repeat(LONG)}`],
  ["a long row of indexes", `a${"[0]".repeat(LONG)}`],
  ["very many conditions", `a${" OR a".repeat(LONG)}`],
  ["deep and wide", `${"a OR b AND c = d + e * (".repeat(190)}a${")".repeat(190)}`],
  ["a chain that begins in chains", `${"(".repeat(150)}a${`${"+a".repeat(50)})`.repeat(150)}`],
])("unbounded nesting or length is refused without a stack overflow: %s", (_, text) => {
  expect(fault(text).code).toBe("query.too_large");
});

test("long chains of conditions make a shallow tree", () => {
  const text = Array.from({ length: 10_000 }, (_, i) => `a = ${i}`).join(" OR ");
  const chain = parseCondition(text);
  expect(printExpression(chain).replaceAll(/[()]/g, "")).toBe(text);
  expect(withoutPlaces(parseCondition(printExpression(chain)))).toEqual(withoutPlaces(chain));
  let depth = 0;
  for (let node: Expression = chain; node.kind === "binary"; node = node.left) depth++;
  expect(depth).toBeLessThan(20);
});

test("an expression of the maximum depth is parsed and printed", () => {
  const nested = `${"(".repeat(199)}a${")".repeat(199)}`;
  expect(tree(nested)).toEqual(tree("a"));
  const chain = `a${" + a".repeat(498)}`;
  expect(printExpression(parseCondition(chain))).toBe(chain);
});
