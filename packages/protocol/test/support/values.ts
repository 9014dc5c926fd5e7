/**
 * Values to test with: arbitraries that lean towards the places where forms of a value change, and
 * a structural equality that tells -0 from 0 and a number from a bigint.
 */

import * as fc from "fast-check";
import type { Value } from "../../src/value.ts";

/** Integers and floats on both sides of every limit: 2^53, 2^63, 2^64, and what floats can hold. */
export const EDGE_NUMBERS: readonly (number | bigint)[] = [
  0,
  -0,
  1,
  -1,
  23,
  24,
  255,
  256,
  65_535,
  65_536,
  4_294_967_295,
  4_294_967_296,
  -24,
  -25,
  -256,
  -257,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 53n + 2n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  2n ** 63n - 1025n,
  2n ** 63n - 1024n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 63n + 1n,
  -(2n ** 63n) + 1n,
  -(2n ** 63n),
  2n ** 64n - 1025n,
  2n ** 64n - 1024n,
  2n ** 64n - 1n,
  2 ** 64,
  2 ** 65,
  -(2 ** 63) - 2048,
  -(2 ** 64),
  1e300,
  -1e300,
  0.5,
  -0.5,
  1.1,
  5e-324,
  2 ** -24,
  2 ** -14,
  65_504,
  65_505.5,
  3.4028234663852886e38,
  Number.MAX_VALUE,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];

/** Text around what encodings get wrong: NUL, the end of ASCII, surrogate pairs, U+FFFF, a BOM. */
export const EDGE_TEXTS: readonly string[] = [
  "",
  "\0",
  "a",
  "a\0",
  "a\0b",
  "\u007f",
  "\u0080",
  "ÿ",
  "\ud7ff",
  "\ue000",
  "\ufeff",
  "\uffff",
  "\u{10000}",
  "\u{10ffff}",
  "a\u{1f600}b",
  "x".repeat(47),
  "x".repeat(48),
  "x".repeat(49),
  `${"x".repeat(47)}é`,
  "__proto__",
  "constructor",
  "toJSON",
];

export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...EDGE_TEXTS),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom("\0", "a", "\u007f", "é", "\uffff", "\u{10000}"),
    maxLength: 4,
  }),
);

/** Integers in their one form. */
export const integers: fc.Arbitrary<number | bigint> = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -300n, max: 300n }),
    fc
      .tuple(fc.constantFrom(53n, 62n, 63n), fc.bigInt({ min: -1200n, max: 1200n }), fc.boolean())
      .map(([power, distance, isNegative]) => {
        const integer = 2n ** power + distance;
        return isNegative && integer <= 2n ** 63n ? -integer : integer;
      }),
  )
  .map(toNormal);

export const numbers: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.constantFrom(...EDGE_NUMBERS),
  integers,
  fc.double().map((number) => toNormal(number)),
  fc.float().map((number) => toNormal(number)),
);

/** The one form of a number, written again here so that the tests do not believe the sources. */
function toNormal(number: number | bigint): number | bigint {
  if (typeof number === "number") {
    const isBigInteger = Number.isInteger(number) && !Number.isSafeInteger(number);
    return isBigInteger && number >= -(2 ** 63) && number < 2 ** 64 ? BigInt(number) : number;
  }
  return Number.isSafeInteger(Number(number)) ? Number(number) : number;
}

const scalars: fc.Arbitrary<Value> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(null, true, false) },
  { weight: 4, arbitrary: numbers },
  { weight: 3, arbitrary: texts },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 5 }) },
);

/** Any value in normal form, a few levels deep. */
export const values: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: scalars },
    { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 4 }) },
    { weight: 1, arbitrary: objectsOf(tie("value")) },
  ),
})).value;

/** Objects whose keys may be `__proto__`, which fc.dictionary cannot be trusted with. */
function objectsOf(field: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  const entries = fc.uniqueArray(fc.tuple(texts, field), {
    maxLength: 4,
    selector: ([name]) => name,
  });
  return entries.map((pairs) => objectOf(pairs));
}

export function objectOf(entries: readonly (readonly [string, Value])[]): Value {
  const object = {};
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

/** A value inside so many arrays. */
export function nested(levels: number, inner: Value): Value {
  let value = inner;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

/** The very same value, to the bit: -0 is not 0, 1n is not 1; only the order of keys is free. */
export function isIdentical(a: Value | undefined, b: Value | undefined): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return Object.is(a, b);
  }
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && hexOf(a) === hexOf(b);
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const fields = Object.keys(a);
  if (fields.length !== Object.keys(b).length) return false;
  const left = a as Record<string, Value>;
  const right = b as Record<string, Value>;
  return fields.every((name) => Object.hasOwn(right, name) && isIdentical(left[name], right[name]));
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

export function bytesOfHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
}
