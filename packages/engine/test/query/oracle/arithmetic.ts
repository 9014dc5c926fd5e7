/**
 * The slow obvious evaluator: numbers.
 *
 * Integers are counted as bigints, so nothing is lost on the way; floats as JS numbers.
 */
import { INTEGER_MAX, INTEGER_MIN, normalInteger, unreachable } from "@bigpeer/protocol";
import type { ArithmeticOperator } from "../../../src/query/syntax/tree.ts";
import {
  approximate,
  type Datum,
  Failure,
  isInteger,
  isNumeric,
  type Outcome,
  toFloat,
} from "../../../src/query/value/datum.ts";

export function calculate(operator: ArithmeticOperator, a: Datum, b: Datum): Outcome {
  if (a === undefined || b === undefined) return undefined;
  if (a === null || b === null) return null;
  if (!isNumeric(a) || !isNumeric(b)) return new Failure("expected numbers");
  if (isInteger(a) && isInteger(b)) return ofIntegers(operator, BigInt(a), BigInt(b));
  return ofFloats(operator, approximate(a), approximate(b));
}

export function negate(a: Datum): Outcome {
  if (a === undefined || a === null) return a;
  if (!isNumeric(a)) return new Failure("expected a number");
  return isInteger(a) ? inRange(-BigInt(a)) : toFloat(-approximate(a));
}

function ofIntegers(operator: ArithmeticOperator, a: bigint, b: bigint): Outcome {
  if ((operator === "/" || operator === "%") && b === 0n) return new Failure("division by zero");
  switch (operator) {
    case "+":
      return inRange(a + b);
    case "-":
      return inRange(a - b);
    case "*":
      return inRange(a * b);
    case "/":
      return inRange(a / b);
    case "%":
      return inRange(a % b);
    default:
      return unreachable(operator);
  }
}

export function inRange(integer: bigint): Outcome {
  if (integer < INTEGER_MIN || integer > INTEGER_MAX) return new Failure("out of range");
  return normalInteger(integer);
}

function ofFloats(operator: ArithmeticOperator, a: number, b: number): Outcome {
  if ((operator === "/" || operator === "%") && b === 0) return new Failure("division by zero");
  switch (operator) {
    case "+":
      return toFloat(a + b);
    case "-":
      return toFloat(a - b);
    case "*":
      return toFloat(a * b);
    case "/":
      return toFloat(a / b);
    case "%":
      return toFloat(a % b);
    default:
      return unreachable(operator);
  }
}
