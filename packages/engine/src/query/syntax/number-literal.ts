/**
 * Number literals: digits as the number they stand for.
 *
 * Integers are exact from -2^63 to 2^64-1. One beyond that range is a float, and so is everything
 * with a point or an exponent.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger } from "@bigpeer/protocol";
import { Float, toFloat } from "../value/datum.ts";

/** Any number with fewer digits is safe as a JS number. */
const SAFE_DIGITS = 15;
/** The digits of 2^64: what has more is beyond the range, and need not be made exact to know it. */
const INTEGER_DIGITS_MAX = 20;

export function decimalValue(digits: string, isFloat: boolean): number | bigint | Float {
  if (isFloat) return toFloat(Number(digits));
  if (digits.length <= SAFE_DIGITS) return Number(digits);
  const significant = digits.replace(/^0+/, "");
  if (significant.length > INTEGER_DIGITS_MAX) return toFloat(Number(significant));
  return integerValue(BigInt(significant || "0"));
}

/** With the prefix `0x`. */
export function hexValue(digits: string): number | bigint | Float {
  const significant = digits.slice(2).replace(/^0+/, "");
  if (significant.length > INTEGER_DIGITS_MAX) return toFloat(hexFloat(significant));
  return integerValue(BigInt(`0x${significant || "0"}`));
}

/** Only the first digits count; the rest says how large it is. */
function hexFloat(digits: string): number {
  const head = Number(`0x${digits.slice(0, INTEGER_DIGITS_MAX)}`);
  return head * 16 ** (digits.length - INTEGER_DIGITS_MAX);
}

/** The number with a minus before it. There is no integer -0. */
export function negative(number: number | bigint | Float): number | bigint | Float {
  if (number instanceof Float) return toFloat(-number.value);
  if (typeof number === "bigint") return integerValue(-number);
  return number === 0 ? 0 : -number;
}

function integerValue(integer: bigint): number | bigint | Float {
  const isInRange = integer >= INTEGER_MIN && integer <= INTEGER_MAX;
  return isInRange ? normalInteger(integer) : toFloat(Number(integer));
}
