/**
 * Arithmetic and concatenation: the operators `+ - * / %`, the minus sign and `||`.
 *
 * Integers are exact from -2^63 to 2^64-1 and fail beyond; division of integers truncates. With one
 * float the result is a float. No other type is converted to a number. MISSING takes precedence
 * over null, and a failure over both. The common case, two JS numbers, comes first and allocates
 * only its result. Failures have no position here; the caller adds it.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger } from "@bigpeer/protocol";
import {
  approximate,
  Failure,
  isInteger,
  isNumeric,
  MISSING,
  type Outcome,
  toFloat,
} from "./datum.ts";
import { mismatch } from "./mismatch.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "./size-bound.ts";

export const OVERFLOW: Failure = new Failure("expected an integer from -2^63 to 2^64-1");
export const DIVISION_BY_ZERO: Failure = new Failure("expected a divisor that is not zero");

/** An operator outside the common case. */
interface Operation {
  readonly integers: (a: bigint, b: bigint) => bigint;
  readonly floats: (a: number, b: number) => number;
  /** Whether the right operand must not be zero. */
  readonly divides: boolean;
}

const ADD: Operation = { integers: (a, b) => a + b, floats: (a, b) => a + b, divides: false };
const SUBTRACT: Operation = { integers: (a, b) => a - b, floats: (a, b) => a - b, divides: false };
const MULTIPLY: Operation = { integers: (a, b) => a * b, floats: (a, b) => a * b, divides: false };
const DIVIDE: Operation = { integers: (a, b) => a / b, floats: (a, b) => a / b, divides: true };
const REMAINDER: Operation = { integers: (a, b) => a % b, floats: (a, b) => a % b, divides: true };

export function add(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return toFloat(sum);
    if (Number.isSafeInteger(sum)) return sum;
  }
  return calculate(ADD, a, b);
}

export function subtract(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return toFloat(difference);
    if (Number.isSafeInteger(difference)) return difference;
  }
  return calculate(SUBTRACT, a, b);
}

export function multiply(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return toFloat(product);
    // Adding 0 turns -0 into 0.
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return calculate(MULTIPLY, a, b);
}

export function divide(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "number" && typeof b === "number" && b !== 0) {
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return toFloat(a / b);
    // Without the remainder the division is exact.
    return (a - (a % b)) / b + 0;
  }
  return calculate(DIVIDE, a, b);
}

/** Remainder with the sign of the left operand. */
export function remainder(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "number" && typeof b === "number" && b !== 0) {
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return toFloat(a % b);
    return (a % b) + 0;
  }
  return calculate(REMAINDER, a, b);
}

export function negate(a: Outcome): Outcome {
  if (typeof a === "number") return Number.isSafeInteger(a) ? 0 - a : toFloat(-a);
  if (a === null || a === MISSING || a instanceof Failure) return a;
  if (typeof a === "bigint") return toInteger(-a);
  return isNumeric(a) ? toFloat(-approximate(a)) : mismatch("a number", a);
}

function calculate(operation: Operation, a: Outcome, b: Outcome): Outcome {
  if (a instanceof Failure) return a;
  if (b instanceof Failure) return b;
  if (a === MISSING || b === MISSING) return MISSING;
  if (a === null || b === null) return null;
  if (!isNumeric(a)) return mismatch("a number", a);
  if (!isNumeric(b)) return mismatch("a number", b);
  if (operation.divides && approximate(b) === 0) return DIVISION_BY_ZERO;
  if (isInteger(a) && isInteger(b)) return toInteger(operation.integers(BigInt(a), BigInt(b)));
  return toFloat(operation.floats(approximate(a), approximate(b)));
}

/** Canonical form of an integer, or a failure if it is out of range. */
export function toInteger(integer: bigint): number | bigint | Failure {
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? OVERFLOW : normalInteger(integer);
}

/** `a || b`. The first operand that is not text decides: null and MISSING pass, others fail. */
export function concat(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "string" && typeof b === "string") {
    return a.length + b.length > TEXT_LENGTH_MAX ? TEXT_TOO_LONG : a + b;
  }
  if (a instanceof Failure) return a;
  if (b instanceof Failure) return b;
  const first = typeof a === "string" ? b : a;
  return first === null || first === MISSING ? first : mismatch("text", first);
}
