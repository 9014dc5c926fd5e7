/**
 * The lexer and the parsers take steps in proportion to the text that they are given, whatever it is.
 */
import { expect, test } from "vitest";
import { findGrowthFaults, type Shapes } from "../../../../protocol/test/support/growth.ts";
import { parseFilter, parseFilterPath } from "../../../src/query/syntax/parse-filter.ts";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";

const SIZE = 3_000;

/** Expressions of any length, legal and not. */
const EXPRESSIONS: Shapes<string> = {
  digits: (size) => "3".repeat(size),
  fraction: (size) => `0.${"3".repeat(size)}`,
  exponent: (size) => `1e${"0".repeat(size)}`,
  hexadecimal: (size) => `0x${"f".repeat(size)}`,
  sums: (size) => `1${" + 1".repeat(size / 4)}`,
  conditions: (size) => `a${" AND a".repeat(size / 6)}`,
  alternatives: (size) => `a = 1${" OR a = 1".repeat(size / 9)}`,
  parentheses: (size) => "(".repeat(size),
  closed: (size) => `${"(".repeat(size / 2)}1${")".repeat(size / 2)}`,
  brackets: (size) => "[".repeat(size),
  braces: (size) => "{'a':".repeat(size / 5),
  list: (size) => `a IN [${"1,".repeat(size / 2)}1]`,
  texts: (size) => `a IN ['${"','".repeat(size / 3)}']`,
  object: (size) => `{${Array.from({ length: size / 8 }, (_, i) => `'k${i}':1`).join(",")}}`,
  text: (size) => `'${"a".repeat(size)}'`,
  openText: (size) => `'${"a".repeat(size)}`,
  quotes: (size) => "'".repeat(size),
  escapes: (size) => `'${"\\n".repeat(size / 2)}'`,
  identifier: (size) => "a".repeat(size),
  quotedName: (size) => `\`${"a".repeat(size)}\``,
  openName: (size) => `\`${"a".repeat(size)}`,
  path: (size) => `a${".a".repeat(size / 2)}`,
  indexes: (size) => `a${"[0]".repeat(size / 3)}`,
  nots: (size) => "NOT ".repeat(size / 4),
  signs: (size) => "- ".repeat(size / 2),
  calls: (size) => "f(".repeat(size / 2),
  arguments: (size) => `coalesce(${"a,".repeat(size / 2)}a)`,
  cases: (size) => `CASE ${"WHEN a THEN b ".repeat(size / 14)}END`,
  openCases: (size) => "CASE WHEN ".repeat(size / 10),
  space: (size) => `a${" ".repeat(size)}`,
  lines: (size) => `a${"\n".repeat(size)}?`,
  comment: (size) => `a /*${"*".repeat(size)}`,
  lineComments: (size) => `a ${"--\n".repeat(size / 3)}`,
  parameters: (size) => `:${"a".repeat(size)}`,
  strange: (size) => "\u00a0".repeat(size),
  halves: (size) => `'${"\ud800".repeat(size)}'`,
};

/** Statements around them, and some of their own. */
const STATEMENTS: Shapes<string> = {
  projections: (size) => `SELECT ${"a,".repeat(size / 2)}a FROM c`,
  terms: (size) => `SELECT * FROM c ORDER BY ${"a,".repeat(size / 2)}a`,
  joins: (size) => `SELECT * FROM c ${"JOIN c ON a ".repeat(size / 12)}`,
  unions: (size) => `SELECT 1 FROM c${" UNION SELECT 1 FROM c".repeat(size / 22)}`,
  queries: (size) => "SELECT * FROM (".repeat(size / 15),
  updates: (size) => `UPDATE c SET ${"a = 1,".repeat(size / 6)}a = 1`,
  documents: (size) => `INSERT INTO c DOCUMENTS ${"({'a':1}),".repeat(size / 10)}({'a':1})`,
  directives: (size) => `#${"a".repeat(size)} SELECT * FROM c`,
  words: (size) => "SELECT ".repeat(size / 7),
};

const LONG = 120_000;

test.each<[string, (text: string) => unknown]>([
  ["a filter", parseFilter],
  ["a path of a filter", parseFilterPath],
  ["a condition of a statement", (text) => parseStatement(`SELECT * FROM c WHERE ${text}`)],
])(
  "[V10] %s takes steps in proportion to its text",
  async (_, parse) => {
    expect(await findGrowthFaults(EXPRESSIONS, parse, SIZE)).toEqual({});
  },
  LONG,
);

test(
  "[V10] a statement takes steps in proportion to its text",
  async () => {
    expect(await findGrowthFaults(STATEMENTS, parseStatement, SIZE)).toEqual({});
  },
  LONG,
);
