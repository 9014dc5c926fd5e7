/**
 * The printer: what it prints reads as the same tree, for any tree that the parser can make.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { parseCondition, parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { printExpression, printStatement } from "../../../src/query/syntax/print.ts";
import type { Expression } from "../../../src/query/syntax/tree.ts";
import { anyExpression, anyStatement } from "./generated-tree.ts";
import { withoutPlaces } from "./tree-places.ts";

test("a printed expression parses back to the same expression", () => {
  fc.assert(
    fc.property(anyExpression, (tree) => {
      expect(withoutPlaces(parseCondition(printExpression(tree)))).toEqual(withoutPlaces(tree));
    }),
    { numRuns: runs(3_000) },
  );
});

test("a printed statement parses back to the same statement", () => {
  fc.assert(
    fc.property(anyStatement, (tree) => {
      const { statement } = parseStatement(printStatement(tree));
      expect(withoutPlaces(statement)).toEqual(withoutPlaces(tree));
    }),
    { numRuns: runs(2_000) },
  );
});

test.each([
  ["((a)) + ((b * c))", "a + b * c"],
  ["a - (b - c)", "a - (b - c)"],
  ["(NOT a) AND (b IS NULL)", "NOT a AND b IS NULL"],
  ["a IN (1, 2)", "a IN [1, 2]"],
  ["a.`b c`[0].`from`", "a.`b c`[0].from"],
  ["`from`.a = `Select`", "`from`.a = `Select`"],
  ["trim(both 'x' from a)", "trim(a, 'x')"],
  ["2.0 + 1e309", "2.0 + 1e999"],
  ['"it\'s"', "'it\\'s'"],
])("%s is printed as %s", (text, printed) => {
  expect(printExpression(parseCondition(text))).toBe(printed);
});

test("a bound name is printed with its original name", () => {
  const slot = (name: string): Expression => ({
    kind: "slot",
    at: 0,
    slot: 3,
    holds: "value",
    name,
  });
  const sum: Expression = {
    kind: "binary",
    at: 0,
    operator: "+",
    left: { kind: "field", at: 0, of: slot("f"), name: "price" },
    right: slot("count(*)"),
  };
  expect(printExpression(sum)).toBe("f.price + count(*)");
});
