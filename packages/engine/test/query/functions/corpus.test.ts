/**
 * Functions, casts, comparison and arithmetic against the recorded cases that need no row.
 */

import { type MutableObject, PeerError, setField, type Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { Fault, locate } from "../../../src/query/fault.ts";
import { parseStatement } from "../../../src/query/syntax/parse-statement.ts";
import type { Projection } from "../../../src/query/syntax/tree.ts";
import { Failure, MISSING, toValue } from "../../../src/query/value/datum.ts";
import { type Case, readCases } from "../../conformance/cases.ts";
import { BeyondConstants, evaluateConstant } from "../../support/constant-evaluation.ts";

/** Functions of dates and patterns have tests of their own. */
const GROUPS =
  /^functions\/(?!date|str-regexp)|^operators\/(arithmetic|cast|compare|concat|division|object-ordering|failure|unary)/;

/** Where the recorded outcome is a defect, what we give instead; see docs/query-language.md. */
const OUR_OUTCOME: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["split('abc', '')", ["a", "b", "c"]],
  ["split(',a,', ',')", ["", "a", ""]],
  ["nullif(1, 1.0)", null],
]);

const cases = readCases().filter(
  ({ name, setup, args, superset }) =>
    GROUPS.test(name) && setup === undefined && args === undefined && superset !== true,
);

/** The rows, or the code of the error; undefined when a case needs more than constants. */
function run({ statement }: Case): readonly Value[] | string | undefined {
  try {
    const { statement: tree } = parseStatement(statement);
    if (tree.kind !== "select") return undefined;
    return [rowOf(tree.projections)];
  } catch (error) {
    if (error instanceof BeyondConstants) return undefined;
    const located = locate(error, statement);
    if (error instanceof Fault && located instanceof PeerError) return located.code;
    throw error;
  }
}

function rowOf(projections: readonly Projection[]): Value {
  const row: MutableObject = {};
  for (const projection of projections) {
    if (projection.kind !== "column") throw new BeyondConstants(projection.kind);
    const outcome = evaluateConstant(projection.expression);
    if (outcome === MISSING || outcome instanceof Failure) continue;
    setField(row, projection.alias ?? "", toValue(outcome));
  }
  return row;
}

function expectedOf({ statement, expect: expectation }: Case): unknown {
  const call = /^SELECT (.*) AS r FROM/.exec(statement)?.[1] ?? "";
  const ours = OUR_OUTCOME.get(call);
  if (ours !== undefined) return [{ r: ours }];
  if (call === "missingif(1, 1.0)") return [{}];
  return expectation.error === undefined ? expectation.items : `query.${expectation.error}`;
}

test("every recorded case that needs no row goes as recorded, or as we say that it should", () => {
  let count = 0;
  const different: string[] = [];
  for (const each of cases) {
    const outcome = run(each);
    if (outcome === undefined) continue;
    count++;
    try {
      expect(outcome).toEqual(expectedOf(each));
    } catch {
      different.push(`${each.statement}: ${JSON.stringify(outcome, showBigints)}`);
    }
  }
  expect(different).toEqual([]);
  expect(count).toBeGreaterThan(700);
});

function showBigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}
