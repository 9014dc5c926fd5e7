/**
 * A walk over the tree of an expression without rows: literals, operators and calls.
 *
 * It stands between the parser and the functions where the compiler stands in the engine, so that
 * each of them can be wrong by itself. What needs a row or a parameter is none of its business.
 */

import { semanticFault } from "../../src/query/fault.ts";
import { isAggregate } from "../../src/query/functions/aggregate.ts";
import { findFunction } from "../../src/query/functions/table.ts";
import type {
  BinaryNode,
  BinaryOperator,
  CallNode,
  Expression,
  ObjectNode,
} from "../../src/query/syntax/tree.ts";
import {
  add,
  concat,
  divide,
  multiply,
  negate,
  remainder,
  subtract,
} from "../../src/query/value/arithmetic.ts";
import { castDatum } from "../../src/query/value/cast.ts";
import { equalComparable, orderComparable } from "../../src/query/value/compare.ts";
import {
  type Datum,
  Failure,
  MISSING,
  type Outcome,
  type PresentDatum,
  putField,
} from "../../src/query/value/datum.ts";
import { callFunction } from "./function-call.ts";

/** Thrown for what this walk does not know. */
export class BeyondConstants extends Error {}

export function evaluateConstant(node: Expression): Outcome {
  switch (node.kind) {
    case "literal":
      return node.value;
    // There is no row, so no field has a value.
    case "missing":
    case "name":
      return MISSING;
    case "array":
      return evaluateAll(node.elements, (elements) => elements.map((element) => element ?? null));
    case "object":
      return evaluateObject(node);
    case "unary":
      if (node.operator === "not") break;
      return node.operator === "-"
        ? negate(evaluateConstant(node.operand))
        : evaluateConstant(node.operand);
    case "binary":
      return evaluateBinary(node);
    case "cast":
      return evaluateAll([node.operand], ([datum]) => castDatum(datum, node.type));
    case "call":
      return evaluateCall(node);
    default:
      break;
  }
  throw new BeyondConstants(node.kind);
}

function evaluateAll(
  nodes: readonly Expression[],
  make: (data: readonly Datum[]) => Outcome,
): Outcome {
  const outcomes = nodes.map(evaluateConstant);
  return outcomes.find((outcome) => outcome instanceof Failure) ?? make(outcomes as Datum[]);
}

function evaluateObject({ entries }: ObjectNode): Outcome {
  const nodes = entries.flatMap(({ key, value }) => [key, value]);
  return evaluateAll(nodes, (data) => {
    const object: { [key: string]: PresentDatum } = {};
    for (let i = 0; i < data.length; i += 2) {
      const [key, value] = [data[i], data[i + 1]];
      if (typeof key === "string" && value !== MISSING) putField(object, key, value);
    }
    return object;
  });
}

function evaluateCall({ name, args, isStar }: CallNode): Outcome {
  if (isAggregate(name)) throw new BeyondConstants(name);
  const spec = findFunction(name);
  if (spec === undefined) throw semanticFault(`unknown function ${name}`);
  const [min, max] = spec.arity;
  if (isStar === true || args.length < min || args.length > max) {
    throw semanticFault(`${name} cannot be called with ${args.length} arguments`);
  }
  return callFunction(name, args.map(evaluateConstant));
}

type Operate = (a: Outcome, b: Outcome) => Outcome;

const OPERATORS: Readonly<Partial<Record<BinaryOperator, Operate>>> = {
  "+": add,
  "-": subtract,
  "*": multiply,
  "/": divide,
  "%": remainder,
  "||": concat,
  "=": compared((a, b) => equalComparable(a, b)),
  "!=": compared((a, b) => decided(equalComparable(a, b), (isEqual) => !isEqual)),
  "<": compared((a, b) => decided(orderComparable(a, b), (order) => order < 0)),
  "<=": compared((a, b) => decided(orderComparable(a, b), (order) => order <= 0)),
  ">": compared((a, b) => decided(orderComparable(a, b), (order) => order > 0)),
  ">=": compared((a, b) => decided(orderComparable(a, b), (order) => order >= 0)),
};

function evaluateBinary({ operator, left, right }: BinaryNode): Outcome {
  const operate = OPERATORS[operator];
  if (operate === undefined) throw new BeyondConstants(operator);
  return operate(evaluateConstant(left), evaluateConstant(right));
}

/** A null here is one that was written: compared with it, nothing has a value. */
function compared(compare: (a: Datum, b: Datum) => boolean | null | undefined): Operate {
  return (a, b) => {
    if (a instanceof Failure) return a;
    if (b instanceof Failure) return b;
    return a === null || b === null ? MISSING : compare(a, b);
  };
}

function decided<T extends number | boolean>(
  comparison: T | null | undefined,
  decide: (comparison: T) => boolean,
): boolean | null | undefined {
  if (comparison === undefined) return undefined;
  return comparison === null ? null : decide(comparison);
}
