/**
 * The table of operators: both parsers nest as it says, and the printer adds parentheses by it.
 */

import { describe, expect, test } from "vitest";
import {
  FILTER_INFIXES,
  type Infix,
  type Infixes,
  STATEMENT_INFIXES,
} from "../../../src/query/syntax/operators.ts";
import { parseFilter } from "../../../src/query/syntax/parse-filter.ts";
import { parseCondition } from "../../../src/query/syntax/parse-statement.ts";
import { printExpression } from "../../../src/query/syntax/print.ts";
import type { Expression } from "../../../src/query/syntax/tree.ts";

interface Language {
  readonly infixes: Infixes;
  readonly parse: (text: string) => Expression;
}

const LANGUAGES: readonly [string, Language][] = [
  ["statements", { infixes: STATEMENT_INFIXES, parse: parseCondition }],
  ["filters", { infixes: FILTER_INFIXES, parse: parseFilter }],
];

/** The operators with one operand on the right, as they are written. */
function binaries(infixes: Infixes): [string, Infix][] {
  return [...infixes].filter(([, { operator }]) => operator !== undefined);
}

describe.each(LANGUAGES)("in %s", (_, { infixes, parse }) => {
  test("each operator is left-associative", () => {
    for (const [sign] of binaries(infixes)) {
      const grouped = printExpression(parse(`(a ${sign} b) ${sign} c`));
      expect(printExpression(parse(`a ${sign} b ${sign} c`)), sign).toBe(grouped);
      const other = printExpression(parse(`a ${sign} (b ${sign} c)`));
      expect(other, sign).not.toBe(grouped);
    }
  });

  test("of two operators the one of higher precedence has its operands first", () => {
    for (const [loose, { precedence: low }] of binaries(infixes)) {
      for (const [tight, { precedence: high }] of binaries(infixes)) {
        if (low >= high) continue;
        const right = printExpression(parse(`a ${loose} (b ${tight} c)`));
        expect(printExpression(parse(`a ${loose} b ${tight} c`))).toBe(right);
        const left = printExpression(parse(`(a ${tight} b) ${loose} c`));
        expect(printExpression(parse(`a ${tight} b ${loose} c`))).toBe(left);
      }
    }
  });

  test("parentheses are printed only against the precedence", () => {
    expect(printExpression(parse("(a + b) * c + (d * e)"))).toBe("(a + b) * c + d * e");
    expect(printExpression(parse("(a OR b) AND (c = d)"))).toBe("(a OR b) AND c = d");
    expect(printExpression(parse("(a NOT IN b) = (c LIKE d)"))).toBe("a NOT IN b = (c LIKE d)");
  });
});

test("|| joins texts in statements and conditions in filters", () => {
  expect(printExpression(parseCondition("a || b = c"))).toBe("a || b = c");
  expect(printExpression(parseFilter("a || b = c"))).toBe("a OR b = c");
});
