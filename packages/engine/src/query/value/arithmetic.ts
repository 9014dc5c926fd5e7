/**
 * Arithmetic and the joining of text: `+ - * / %`, the minus sign, `||`.
 *
 * Integers are exact from -2^63 to 2^64-1 and fail beyond; integer by integer cuts off what is
 * behind the point. One float makes the result a float. Nothing becomes a number that was none.
 * MISSING comes before null, a failure before both. The common case, two JS numbers, comes first and
 * makes nothing but its result; failures have no place yet, the caller knows it.
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

/** What an operator does when it is not the common case. */
interface Operation {
  readonly integers: (a: bigint, b: bigint) => bigint;
  readonly floats: (a: number, b: number) => number;
  /** Whether the right side must not be zero. */
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
    // An integer has no -0; adding 0 takes the sign away.
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

/** The sign is that of the left side. */
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

/** The one form of an integer, or the failure of one that is too large. */
export function toInteger(integer: bigint): number | bigint | Failure {
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? OVERFLOW : normalInteger(integer);
}

/** `a || b`. The first that is no text decides: null and MISSING are the result, all else fails. */
export function concat(a: Outcome, b: Outcome): Outcome {
  if (typeof a === "string" && typeof b === "string") {
    return a.length + b.length > TEXT_LENGTH_MAX ? TEXT_TOO_LONG : a + b;
  }
  if (a instanceof Failure) return a;
  if (b instanceof Failure) return b;
  const first = typeof a === "string" ? b : a;
  return first === null || first === MISSING ? first : mismatch("text", first);
}
