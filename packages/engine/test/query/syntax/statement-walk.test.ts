/**
 * Walks over whole statements: in pieces that do not grow with the statement.
 */
import { expect, test } from "vitest";
import { DIRECTIVE_LENGTH_MAX } from "../../../src/limits.ts";
import { usesInSteps } from "../../../src/query/permission/collection-use.ts";
import { joinsMaxOf } from "../../../src/query/plan/directive.ts";
import { parametersInSteps } from "../../../src/query/plan/parameters.ts";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { subqueriesInSteps } from "../../../src/query/syntax/statement-walk.ts";

const PART = "({'a':[:p, 1]}),";

function insertOf(length: number): string {
  return `INSERT INTO c DOCUMENTS ${PART.repeat(length / PART.length)}({'a':1})`;
}

function pausesOf(steps: Iterator<void, unknown, void>): number {
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  return pauses;
}

test("the walk of a long INSERT pauses at least every 32 KB of text", () => {
  const length = 512 * 1024;
  const { statement } = parseStatement(insertOf(length));
  for (const walk of [parametersInSteps, subqueriesInSteps, usesInSteps]) {
    expect(pausesOf(walk(statement)), walk.name).toBeGreaterThanOrEqual(length / (32 * 1024));
  }
});

test("a short statement is walked without a pause", () => {
  const { statement } = parseStatement(insertOf(1024));
  expect(pausesOf(parametersInSteps(statement))).toBe(0);
});

test("a directive is limited in size, because its JSON is parsed at once", () => {
  const longest = `{"#max_joins": 3, "x": "${"y".repeat(DIRECTIVE_LENGTH_MAX - 26)}"}`;
  expect(longest).toHaveLength(DIRECTIVE_LENGTH_MAX);
  expect(joinsMaxOf([longest])).toBe(3);
  expect(() => joinsMaxOf([`${longest} `])).toThrow("a directive has more than 65536 characters");
});
