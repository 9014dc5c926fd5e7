/**
 * Dates and patterns against the recorded cases that need no row.
 */
import { expect, test } from "vitest";
import { compileLikeNode } from "../../src/query/compile/like.ts";
import { Fault } from "../../src/query/fault.ts";
import type { Evaluate } from "../../src/query/frame/frame.ts";
import { parseStatement } from "../../src/query/syntax/parse-statement.ts";
import type { Expression } from "../../src/query/syntax/tree.ts";
import { Failure, MISSING, type Outcome, toValue } from "../../src/query/value/datum.ts";
import { type Case, readCases } from "../conformance/cases.ts";
import { evaluateConstant } from "../support/constant-evaluation.ts";
import { testRun } from "../support/function-call.ts";

const GROUPS = /^functions\/(date|str-regexp_like)|^operators\/(like|similar-to)\//;

const cases = readCases().filter(
  ({ name, args, setup }) => GROUPS.test(name) && args === undefined && setup === undefined,
);

function evaluate(node: Expression): Outcome {
  if (node.kind !== "like") return evaluateConstant(node);
  const constant =
    (part: Expression): Evaluate =>
    () =>
      evaluate(part);
  return compileLikeNode(node, constant)({ run: testRun(), slots: [] });
}

/** The one row, or the code of the error. */
function run({ statement }: Case): unknown {
  try {
    const tree = parseStatement(statement).statement;
    const column = tree.kind === "select" ? tree.projections[0] : undefined;
    if (column?.kind !== "column") throw new Error(`expected one column, found ${statement}`);
    const outcome = evaluate(column.expression);
    return outcome === MISSING || outcome instanceof Failure ? {} : { r: toValue(outcome) };
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

test.each(cases.map((each) => [each.statement, each] as const))("%s", (_statement, each) => {
  const { error, items } = each.expect;
  expect(run(each)).toEqual(error === undefined ? items?.[0] : `query.${error}`);
});

test("more than 150 cases are here", () => {
  expect(cases.length).toBeGreaterThan(150);
});
