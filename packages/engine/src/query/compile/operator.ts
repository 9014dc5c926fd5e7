/**
 * Operators: compiles arithmetic, comparison, logic, IS, IN and BETWEEN into closures.
 *
 * Logic has four values. In AND, false decides, then MISSING, then null; in OR, true decides, then
 * null, then MISSING. A side that is not boolean fails, unless the other side decides. A failure on
 * the left of OR is the result; elsewhere the deciding side hides it.
 */

import { unreachable } from "@bigpeer/protocol";
import type { Evaluate } from "../frame/frame.ts";
import type {
  BetweenNode,
  BinaryNode,
  ComparisonOperator,
  Expression,
  InNode,
  IsNode,
  SubqueryNode,
  UnaryNode,
} from "../syntax/tree.ts";
import { add, concat, divide, multiply, negate, remainder, subtract } from "../value/arithmetic.ts";
import { equalComparable, orderComparable } from "../value/compare.ts";
import { grow, spend, spendLength } from "../value/cost-meter.ts";
import { type Datum, Failure, isDatumArray, MISSING, type Outcome } from "../value/datum.ts";
import { tableOf } from "../value/members.ts";
import { mismatch } from "../value/mismatch.ts";
import { TEXT_LENGTH_MAX } from "../value/size-bound.ts";
import { placer } from "./placer.ts";
import { compileMembers } from "./subquery.ts";

type Compile = (node: Expression) => Evaluate;

export function compileUnary({ operator, operand, at }: UnaryNode, compile: Compile): Evaluate {
  const value = compile(operand);
  const place = placer(at);
  switch (operator) {
    case "+":
      return value;
    case "-":
      return (frame) => place(negate(value(frame)));
    case "not":
      return (frame) => {
        const outcome = value(frame);
        if (typeof outcome === "boolean") return !outcome;
        return isOpen(outcome) ? outcome : place(mismatch("a boolean", outcome));
      };
    default:
      return unreachable(operator);
  }
}

/** Null, MISSING or a failure: the value decides nothing. */
function isOpen(outcome: Outcome): outcome is null | undefined | Failure {
  return outcome === null || outcome === MISSING || outcome instanceof Failure;
}

export function compileBinary(node: BinaryNode, compile: Compile): Evaluate {
  const { operator } = node;
  switch (operator) {
    case "+":
      return calculation(node, add, compile);
    case "-":
      return calculation(node, subtract, compile);
    case "*":
      return calculation(node, multiply, compile);
    case "/":
      return calculation(node, divide, compile);
    case "%":
      return calculation(node, remainder, compile);
    case "||":
      return calculation(node, joinTexts, compile);
    case "and":
      return conjunction(node, compile);
    case "or":
      return disjunction(node, compile);
    default:
      return comparison(node, operator, compile);
  }
}

/** Concatenates; a large result is charged. */
function joinTexts(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "string" && typeof b === "string") {
    const length = a.length + b.length;
    if (length > LARGE_LENGTH && length <= TEXT_LENGTH_MAX) {
      spendLength(length);
      grow(2 * length);
    }
  }
  return concat(a, b);
}

const LARGE_LENGTH = 32 * 1024;

function calculation(
  { left, right, at }: BinaryNode,
  calculate: (a: Outcome, b: Outcome) => Outcome,
  compile: Compile,
): Evaluate {
  const a = compile(left);
  const b = compile(right);
  const place = placer(at);
  return (frame) => {
    const outcome = calculate(a(frame), b(frame));
    return outcome instanceof Failure ? place(outcome) : outcome;
  };
}

function conjunction({ left, right, at }: BinaryNode, compile: Compile): Evaluate {
  const a = compile(left);
  const b = compile(right);
  const place = placer(at);
  return (frame) => {
    spend(1);
    const x = a(frame);
    if (x === false) return false;
    const y = b(frame);
    if (y === false) return false;
    if (x === true && y === true) return true;
    const failure = failureOf(x) ?? failureOf(y);
    if (failure !== undefined) return place(failure);
    return x === MISSING || y === MISSING ? MISSING : null;
  };
}

function disjunction({ left, right, at }: BinaryNode, compile: Compile): Evaluate {
  const a = compile(left);
  const b = compile(right);
  const place = placer(at);
  return (frame) => {
    spend(1);
    const x = a(frame);
    if (x === true || x instanceof Failure) return x;
    const y = b(frame);
    if (y === true) return true;
    if (x === false && y === false) return false;
    const failure = failureOf(x) ?? failureOf(y);
    if (failure !== undefined) return place(failure);
    return x === null || y === null ? null : MISSING;
  };
}

/** The failure of a side of AND or OR: its own, or that it is not a boolean. */
function failureOf(side: Outcome): Failure | undefined {
  if (side instanceof Failure) return side;
  if (typeof side === "boolean" || side === null || side === MISSING) return undefined;
  return mismatch("a boolean", side);
}

/**
 * Compares two sides. A null or MISSING literal, or a null parameter, compares with nothing: the
 * result is MISSING, whatever the other side is.
 */
function comparison(
  { left, right }: BinaryNode,
  operator: ComparisonOperator,
  compile: Compile,
): Evaluate {
  const a = compile(left);
  const b = compile(right);
  const compare = COMPARISONS[operator];
  if (isWrittenNothing(left) || isWrittenNothing(right)) return () => MISSING;
  const isLeftGiven = left.kind === "parameter";
  const isRightGiven = right.kind === "parameter";
  return (frame) => {
    const x = a(frame);
    if (x === null && isLeftGiven) return MISSING;
    if (x instanceof Failure) return isRightGiven && b(frame) === null ? MISSING : x;
    const y = b(frame);
    if (y === null && isRightGiven) return MISSING;
    return y instanceof Failure ? y : compare(x, y);
  };
}

function isWrittenNothing(node: Expression): boolean {
  return node.kind === "missing" || (node.kind === "literal" && node.value === null);
}

type Compare = (a: Datum, b: Datum) => boolean | null | undefined;

const COMPARISONS: Readonly<Record<ComparisonOperator, Compare>> = {
  // NaN does not equal itself: it takes the general comparison.
  "=": (a, b) => (typeof a === "number" && a === b ? true : equalComparable(a, b)),
  "!=": (a, b) => {
    const isEqual = equalComparable(a, b);
    return typeof isEqual === "boolean" ? !isEqual : isEqual;
  },
  "<": ordered((order) => order < 0),
  "<=": ordered((order) => order <= 0),
  ">": ordered((order) => order > 0),
  ">=": ordered((order) => order >= 0),
};

function ordered(decide: (order: number) => boolean): Compare {
  return (a, b) => {
    const order = orderComparable(a, b);
    return typeof order === "number" ? decide(order) : order;
  };
}

export function compileIs({ operand, what, isNegated }: IsNode, compile: Compile): Evaluate {
  const value = compile(operand);
  const wanted = what === "null" ? null : MISSING;
  return (frame) => {
    const outcome = value(frame);
    if (outcome instanceof Failure) return outcome;
    return (outcome === wanted) !== isNegated;
  };
}

/**
 * x BETWEEN low AND high. MISSING if one of them is. The lower bound is compared first: x below it
 * decides, and a null or MISSING comparison is the result. Then the same for the upper bound.
 */
export function compileBetween(node: BetweenNode, compile: Compile): Evaluate {
  const value = compile(node.operand);
  const low = compile(node.low);
  const high = compile(node.high);
  const { isNegated } = node;
  return (frame) => {
    const x = value(frame);
    if (x instanceof Failure) return x;
    const from = low(frame);
    if (from instanceof Failure) return from;
    const to = high(frame);
    if (to instanceof Failure) return to;
    if (to === MISSING) return MISSING;
    const below = orderComparable(x, from);
    if (typeof below !== "number") return below;
    if (below < 0) return isNegated;
    const above = orderComparable(x, to);
    return typeof above === "number" ? above <= 0 !== isNegated : above;
  };
}

export function compileIn(node: InNode, compile: Compile): Evaluate {
  const { operand, list, isNegated, at } = node;
  if (list.kind === "subquery") return compileInQuery(node, list, compile);
  const value = compile(operand);
  const members = isWritten(list) ? once(compile(list)) : compile(list);
  const place = placer(at);
  return (frame) => {
    const x = value(frame);
    if (isOpen(x)) return x;
    const array = members(frame);
    if (array instanceof Failure || array === MISSING) return array;
    if (!isDatumArray(array)) return place(mismatch("an array after IN", array));
    const known = tableOf(frame.run, array)?.find?.(x);
    const found = known === undefined ? isMember(x, array) : known;
    return typeof found === "boolean" ? found !== isNegated : place(found);
  };
}

function isWritten(list: Expression): boolean {
  return list.kind === "array" && list.elements.every(({ kind }) => kind === "literal");
}

function once(evaluate: Evaluate): Evaluate {
  let known: Outcome | undefined;
  return (frame) => (known ??= evaluate(frame));
}

/** As with a literal list; a hash table of the members only makes it faster. */
function compileInQuery(
  { operand, isNegated, at }: InNode,
  list: SubqueryNode,
  compile: Compile,
): Evaluate {
  const value = compile(operand);
  const membersOf = compileMembers(list);
  const place = placer(at);
  return (frame) => {
    const x = value(frame);
    if (isOpen(x)) return x;
    const { values, find } = membersOf(frame);
    const known = find?.(x);
    const found = known === undefined ? isMember(x, values) : known;
    return typeof found === "boolean" ? found !== isNegated : place(found);
  };
}

/** A member of another type is a failure, even if another member matches. */
function isMember(x: Datum, array: readonly Datum[]): boolean | null | Failure {
  spend(array.length);
  let isFound = false;
  let hasNull = false;
  for (const member of array) {
    const isEqual = equalComparable(x, member);
    if (isEqual === undefined) return mismatch("members of one type in the list of IN", member);
    if (isEqual === null) hasNull = true;
    else if (isEqual) isFound = true;
  }
  if (isFound) return true;
  return hasNull ? null : false;
}
