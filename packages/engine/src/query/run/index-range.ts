/**
 * indexRanges: turns the tests of a probe into ranges of an index or of ids, once their values are
 * known.
 *
 * A value that compares with nothing (null, MISSING, a failure) gives no range. A comparison is
 * true only among values of one kind, so a range ends where its kind does. Operators order arrays
 * and objects differently than an index does: for those the range is their whole kind.
 */

import { compareValues, type Value } from "@bigpeer/protocol";
import type { IndexRange } from "../../store/index-entry.ts";
import type { Bound } from "../../store/keys.ts";
import { compile } from "../compile/expression.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import type { IndexAccess } from "../plan/access.ts";
import type { OrderOperator, PointTest, RangeTest } from "../plan/probe.ts";
import type { Expression } from "../syntax/tree.ts";
import { Failure, isDatumArray, MISSING, type Outcome, toValue } from "../value/datum.ts";
import { likePrefix } from "../value/like.ts";

/** Cache of compiled expressions; a plan lives as long as its prepared statement. */
const compiled = new WeakMap<Expression, Evaluate>();

function valueOf(node: Expression, frame: Frame): Outcome {
  let evaluate = compiled.get(node);
  if (evaluate === undefined) {
    evaluate = compile(node);
    compiled.set(node, evaluate);
  }
  return evaluate(frame);
}

/** Limit on ranges that several lists make together; one list may make more. */
const RANGES_MAX = 4096;

/** Limit on the members of one list, which are sorted without a pause. */
const MEMBERS_MAX = 16_384;

/**
 * The distinct ranges of an index that an access reads; empty when nothing fits. Undefined when a
 * list names so much that a scan is as good.
 */
export function indexRanges(access: IndexAccess, frame: Frame): IndexRange[] | undefined {
  let equal: (Value | undefined)[][] = [[]];
  for (const [i, point] of access.points.entries()) {
    const values = pointValues(point, frame);
    if (values === undefined) return i === 0 ? undefined : equal.map((each) => ({ equal: each }));
    // Fewer keys find more documents; the condition itself removes the excess.
    if (i > 0 && equal.length * values.length > RANGES_MAX)
      return equal.map((each) => ({ equal: each }));
    equal = equal.flatMap((each) => values.map((value) => [...each, value]));
  }
  if (equal.length === 0 || access.bounds.length === 0)
    return equal.map((each) => ({ equal: each }));
  const span = spanOf(access.bounds, frame);
  return span === undefined ? [] : equal.map((each) => ({ equal: each, ...span }));
}

function pointValues(test: PointTest, frame: Frame): readonly (Value | undefined)[] | undefined {
  switch (test.kind) {
    case "missing":
      return [undefined];
    case "null":
      return [null];
    case "equal":
      return comparable([valueOf(test.value, frame)]);
    default: {
      const list = valueOf(test.list, frame);
      if (!isDatumArray(list)) return [];
      return list.length > MEMBERS_MAX ? undefined : distinct(comparable(list));
    }
  }
}

/** The values that can equal something. */
function comparable(outcomes: readonly Outcome[]): Value[] {
  const values: Value[] = [];
  for (const outcome of outcomes) {
    if (outcome === MISSING || outcome === null || outcome instanceof Failure) continue;
    values.push(toValue(outcome));
  }
  return values;
}

function distinct(values: Value[]): readonly Value[] {
  if (values.length < 2) return values;
  values.sort(compareValues);
  return values.filter((value, i) => i === 0 || compareValues(values[i - 1] as Value, value) !== 0);
}

/** Bounds of values, or a prefix of text. */
export type Span = Pick<IndexRange, "low" | "high" | "startsWith">;

/** The intersection of all tests; undefined when it is empty. */
export function spanOf(tests: readonly RangeTest[], frame: Frame): Span | undefined {
  let low: Bound | undefined;
  let high: Bound | undefined;
  let startsWith: string | undefined;
  for (const test of tests) {
    const span = spanOfTest(test, frame);
    if (span === undefined) return undefined;
    startsWith ??= span.startsWith;
    low = tighter(low, span.low, 1);
    high = tighter(high, span.high, -1);
  }
  // One of the two is enough, and a prefix is narrower.
  if (startsWith !== undefined) return { startsWith };
  if (isEmpty(low, high)) return undefined;
  return { ...(low && { low }), ...(high && { high }) };
}

function spanOfTest(test: RangeTest, frame: Frame): Span | undefined {
  switch (test.kind) {
    case "present":
      return { high: { value: undefined, isIncluded: false } };
    case "like":
      return likeSpan(test, frame);
    default:
      return compareSpan(test.operator, valueOf(test.value, frame));
  }
}

function likeSpan(test: Extract<RangeTest, { kind: "like" }>, frame: Frame): Span | undefined {
  const pattern = valueOf(test.pattern, frame);
  const escape = test.escape && valueOf(test.escape, frame);
  if (typeof pattern !== "string") return undefined;
  const prefix = likePrefix(pattern, typeof escape === "string" ? escape : undefined);
  return prefix !== undefined && prefix.isWellFormed() ? { startsWith: prefix } : kindOf("");
}

function compareSpan(operator: OrderOperator, outcome: Outcome): Span | undefined {
  if (outcome === MISSING || outcome === null || outcome instanceof Failure) return undefined;
  const value = toValue(outcome);
  const kind = kindOf(value);
  if (typeof value === "string" ? !value.isWellFormed() : isCompound(value)) return kind;
  const bound = { value, isIncluded: operator === "<=" || operator === ">=" };
  return operator === "<" || operator === "<=" ? { ...kind, high: bound } : { ...kind, low: bound };
}

function isCompound(value: Value): boolean {
  return typeof value === "object" && !(value instanceof Uint8Array);
}

const NO_BYTES = new Uint8Array(0);

function from(value: Value): Bound {
  return { value, isIncluded: true };
}

function before(value: Value): Bound {
  return { value, isIncluded: false };
}

/** The range of all values that compare with a value. */
function kindOf(value: Value): Span {
  switch (typeof value) {
    case "boolean":
      return { low: from(false), high: from(true) };
    case "number":
    case "bigint":
      return { low: from(Number.NEGATIVE_INFINITY), high: before(NO_BYTES) };
    case "string":
      return { low: from(""), high: before([]) };
    default:
      if (value instanceof Uint8Array) return { low: from(NO_BYTES), high: before("") };
      return Array.isArray(value)
        ? { low: from([]), high: before({}) }
        : { low: from({}), high: before(null) };
  }
}

/** The tighter of two bounds; `side` is 1 for lower bounds. */
function tighter(a: Bound | undefined, b: Bound | undefined, side: 1 | -1): Bound | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const order = compareValues(a.value, b.value) * side;
  if (order !== 0) return order > 0 ? a : b;
  return a.isIncluded ? b : a;
}

function isEmpty(low: Bound | undefined, high: Bound | undefined): boolean {
  if (low === undefined || high === undefined) return false;
  const order = compareValues(low.value, high.value);
  return order > 0 || (order === 0 && !(low.isIncluded && high.isIncluded));
}
