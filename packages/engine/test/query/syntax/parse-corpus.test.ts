/**
 * The parser and the printer held to the recorded cases: what the cases call a syntax error is one,
 * everything else is read, and what is printed from it reads the same. Then the same statements,
 * damaged: whatever comes, only a Fault is thrown.
 */

import { expect, test } from "vitest";
import { sized } from "../../../../protocol/test/support/test-size.ts";
import { Fault } from "../../../src/query/fault.ts";
import { parseFilter } from "../../../src/query/syntax/parse-filter.ts";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import { printStatement } from "../../../src/query/syntax/print.ts";
import type { Statement } from "../../../src/query/syntax/tree.ts";
import { type Case, nameCollections, readCases } from "../../conformance/cases.ts";
import { Random } from "../../support/random.ts";
import { mangle } from "../mangled-statement.ts";
import { withoutPlaces } from "./tree-places.ts";

const MANGLED = sized(400, 2_000);

const cases: readonly Case[] = readCases()
  .filter(({ suspect, superset }) => suspect === undefined && superset !== true)
  .map((each) => nameCollections(each, { c: "things", c2: "others" }));

const statements = [
  ...new Set(
    cases.flatMap(({ setup = [], statement, then = [] }) =>
      [...setup, { statement }, ...then].map((step) => step.statement),
    ),
  ),
];

/** The statement, or the fault. */
function read(text: string): Statement | Fault {
  try {
    return parseStatement(text).statement;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function describe(text: string): string {
  const outcome = read(text);
  return outcome instanceof Fault ? `${text}: ${outcome.code} ${outcome.message}` : `${text}: read`;
}

test("statements with a recorded syntax error have one, which says what was expected", () => {
  const wrong = cases
    .filter(({ expect: { error } }) => error === "syntax")
    .filter(({ statement }) => {
      const outcome = read(statement);
      if (!(outcome instanceof Fault) || outcome.code !== "query.syntax") return true;
      return outcome.offset === undefined || !/^expected .+, found .+/.test(outcome.message);
    })
    .map(({ statement }) => describe(statement));
  expect(wrong).toEqual([]);
});

test("statements that fail for another reason, or not at all, have no syntax error", () => {
  const wrong = cases
    .flatMap((each) => [each, ...(each.then ?? [])])
    .filter(({ expect: { error } }) => error !== "syntax")
    .filter(({ statement, expect: { error } }) => {
      const outcome = read(statement);
      const isRefused =
        error === "semantic" && outcome instanceof Fault && outcome.code === "query.semantic";
      return outcome instanceof Fault && !isRefused;
    })
    .map(({ statement }) => describe(statement));
  expect(wrong).toEqual([]);
});

test("a printed statement parses back to the same statement", () => {
  const trees = statements
    .map(read)
    .filter((outcome): outcome is Statement => !(outcome instanceof Fault));
  expect(trees.length).toBeGreaterThan(1_000);
  for (const tree of trees) {
    expect(withoutPlaces(read(printStatement(tree)))).toEqual(withoutPlaces(tree));
  }
});

test("a damaged statement is parsed, or refused with a Fault whose place is in the text", () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= MANGLED; seed++) {
    const text = mangle(statements, new Random(seed));
    const outcome = read(text);
    outcomes.add(outcome instanceof Fault ? outcome.code : "read");
    const { offset } = outcome instanceof Fault ? outcome : { offset: 0 };
    expect(offset ?? 0).toBeGreaterThanOrEqual(0);
    expect(offset ?? 0).toBeLessThanOrEqual(text.length);
    if (outcome instanceof Fault) continue;
    // What can be read can also be printed, and is then still the same; only that the parentheses
    // of the printer may be more than nest.
    const again = read(printStatement(outcome));
    if (again instanceof Fault && again.code === "query.too_large") continue;
    expect(withoutPlaces(again)).toEqual(withoutPlaces(outcome));
  }
  expect([...outcomes]).toEqual(expect.arrayContaining(["query.semantic", "query.syntax", "read"]));
});

test("a damaged filter is parsed, or refused in the same way", () => {
  const filters = [
    "a == 1 && b['x-y'] != null || !contains(c, $args.x)",
    "a.b[0] >= :p && (c || d)",
  ];
  for (let seed = 1; seed <= MANGLED; seed++) {
    try {
      parseFilter(mangle([...filters, ...statements], new Random(seed)));
    } catch (error) {
      expect(error).toBeInstanceOf(Fault);
    }
  }
});
