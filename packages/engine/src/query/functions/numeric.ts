/**
 * Numeric functions: rounding, absolute value and trigonometry. Rounding keeps the type, integer or
 * float. Trigonometry returns a float, and NaN where there is no result.
 */

import { toInteger } from "../value/arithmetic.ts";
import {
  approximate,
  type Datum,
  Failure,
  isInteger,
  isNumeric,
  type Outcome,
  toFloat,
} from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import { notInteger, readInteger } from "./argument.ts";
import type { FunctionSpec } from "./function.ts";

export const NUMERIC_FUNCTIONS: readonly FunctionSpec[] = [
  rounding("ceil", Math.ceil),
  rounding("floor", Math.floor),
  { name: "abs", arity: [1, 1], nulls: "pass", apply: ([number]) => absolute(number) },
  {
    name: "round",
    arity: [1, 2],
    nulls: "pass",
    checks: [{ at: 1, wrong: notInteger }],
    apply: ([number, to = 0]) => round(number, to),
  },
  real("sin", Math.sin),
  real("cos", Math.cos),
  real("tan", Math.tan),
  real("asin", Math.asin),
  real("acos", Math.acos),
  real("atan", Math.atan),
  real("sinh", Math.sinh),
  real("cosh", Math.cosh),
  real("tanh", Math.tanh),
  real("degrees", (radians) => (radians * 180) / Math.PI),
  real("radians", (degrees) => (degrees * Math.PI) / 180),
  { name: "atan2", arity: [2, 2], nulls: "pass", apply: ([y, x]) => atan2(y, x) },
];

/** A rounding function of one number, which returns integers unchanged. */
function rounding(name: string, apply: (number: number) => number): FunctionSpec {
  return {
    name,
    arity: [1, 1],
    nulls: "pass",
    apply: ([number]) => {
      if (!isNumeric(number)) return mismatch("a number", number);
      return isInteger(number) ? number : toFloat(apply(approximate(number)));
    },
  };
}

/** A function of one real number. */
function real(name: string, apply: (number: number) => number): FunctionSpec {
  return {
    name,
    arity: [1, 1],
    nulls: "pass",
    apply: ([number]) =>
      isNumeric(number) ? toFloat(apply(approximate(number))) : mismatch("a number", number),
  };
}

function atan2(y: Datum, x: Datum): Outcome {
  if (!isNumeric(y)) return mismatch("a number", y);
  return isNumeric(x)
    ? toFloat(Math.atan2(approximate(y), approximate(x)))
    : mismatch("a number", x);
}

function absolute(number: Datum): Outcome {
  if (!isNumeric(number)) return mismatch("a number", number);
  if (typeof number === "bigint") return toInteger(number < 0n ? -number : number);
  return isInteger(number) ? Math.abs(number) : toFloat(Math.abs(approximate(number)));
}

/** Rounds half away from zero. Negative digits round before the decimal point. */
function round(number: Datum, to: Datum): Outcome {
  if (!isNumeric(number)) return mismatch("a number", number);
  const digits = readInteger(to);
  if (digits instanceof Failure) return digits;
  return isInteger(number) ? roundInteger(number, digits) : roundFloat(approximate(number), digits);
}

/** More digits than any integer has. */
const INTEGER_DIGITS = 21;

function roundInteger(integer: number | bigint, digits: number): Outcome {
  if (digits >= 0) return integer;
  if (digits < -INTEGER_DIGITS) return 0;
  const unit = 10n ** BigInt(-digits);
  const exact = BigInt(integer);
  const half = exact < 0n ? -unit / 2n : unit / 2n;
  return toInteger(((exact + half) / unit) * unit);
}

/** Rounds the binary value: 1.005 is slightly less than that, so it is 1.00 with two digits. */
function roundFloat(float: number, digits: number): Outcome {
  const scale = 10 ** digits;
  const shifted = float * scale;
  // From here on a float has no fraction.
  if (Math.abs(shifted) >= Number.MAX_SAFE_INTEGER || Number.isNaN(shifted)) return toFloat(float);
  if (scale === 0) return toFloat(0);
  return toFloat((Math.sign(shifted) * Math.round(Math.abs(shifted))) / scale);
}
