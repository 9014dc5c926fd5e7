/**
 * Number literals: parse decimal and hexadecimal digits.
 *
 * Integers are exact from -2^63 to 2^64-1. A number beyond that range is a float, and so is one
 * with a point or an exponent.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger } from "@bigpeer/protocol";
import { Float, toFloat } from "../value/datum.ts";

/** Any integer of so many digits is safe as a JS number. */
const SAFE_DIGITS = 15;
/** Digits of 2^64: a number with more is out of range without an exact conversion. */
const INTEGER_DIGITS_MAX = 20;

export function decimalValue(digits: string, isFloat: boolean): number | bigint | Float {
  if (isFloat) return toFloat(Number(digits));
  if (digits.length <= SAFE_DIGITS) return Number(digits);
  const significant = digits.replace(/^0+/, "");
  if (significant.length > INTEGER_DIGITS_MAX) return toFloat(Number(significant));
  return integerValue(BigInt(significant || "0"));
}

/** Parses hexadecimal digits with the prefix `0x`. */
export function hexValue(digits: string): number | bigint | Float {
  const significant = digits.slice(2).replace(/^0+/, "");
  if (significant.length > INTEGER_DIGITS_MAX) return toFloat(hexFloat(significant));
  return integerValue(BigInt(`0x${significant || "0"}`));
}

/** Uses the first digits; the others only add to the exponent. */
function hexFloat(digits: string): number {
  const head = Number(`0x${digits.slice(0, INTEGER_DIGITS_MAX)}`);
  return head * 16 ** (digits.length - INTEGER_DIGITS_MAX);
}

/** Negates a number. There is no integer -0. */
export function negative(number: number | bigint | Float): number | bigint | Float {
  if (number instanceof Float) return toFloat(-number.value);
  if (typeof number === "bigint") return integerValue(-number);
  return number === 0 ? 0 : -number;
}

function integerValue(integer: bigint): number | bigint | Float {
  const isInRange = integer >= INTEGER_MIN && integer <= INTEGER_MAX;
  return isInRange ? normalInteger(integer) : toFloat(Number(integer));
}
