/**
 * Values: what is one, the one form of an integer, and the laws of the total order.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  checkValue,
  compareNumbers,
  compareText,
  compareValues,
  DEPTH_MAX,
  equalValues,
  getField,
  type MutableObject,
  normalInteger,
  setField,
  sortedKeys,
  type Value,
} from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import {
  EDGE_NUMBERS,
  EDGE_TEXTS,
  isIdentical,
  nested,
  numbers,
  texts,
  values,
} from "./support/values.ts";

const RUNS = { numRuns: runs(2000) };

test("[V1] null, booleans, numbers, text, binary, arrays and objects are values", () => {
  const value = { a: [null, true, 1.5, "text", new Uint8Array([1, 2])], b: { c: {} } };
  expect(checkValue(value, "a")).toBe(value);
});

test("[V1] MISSING is never inside a value, and data that is not a value is refused with its place", () => {
  const cases: [unknown, string][] = [
    [undefined, "x"],
    [[1, undefined], "x[1]"],
    [{ a: { b: undefined } }, "x.a.b"],
    [{ a: () => 1 }, "x.a"],
    [[Symbol("s")], "x[0]"],
    [{ d: new Date(0) }, "x.d"],
    [new Map(), "x"],
    [new Float64Array(1), "x"],
    // oxlint-disable-next-line no-sparse-arrays -- the hole is the point
    [[1, , 2], "x[1]"],
  ];
  for (const [input, at] of cases) {
    const error = failureOf(() => checkValue(input, "x"));
    expect([error.code, error.at]).toEqual(["value.invalid", at]);
  }
});

test("[V1] a Date is refused with the type to use instead", () => {
  const message =
    "expected a value, found a Date: give a text (toISOString()) or a number (getTime()) at x.d";
  expect(failureOf(() => checkValue({ d: new Date(0) }, "x")).message).toBe(message);
});

test("[V2] an integer has one form: a JS number inside ±(2^53-1), a bigint beyond", () => {
  expect(normalInteger(9_007_199_254_740_991n)).toBe(9_007_199_254_740_991);
  expect(normalInteger(9_007_199_254_740_992n)).toBe(9_007_199_254_740_992n);
  expect(normalInteger(-9_007_199_254_740_991n)).toBe(-9_007_199_254_740_991);
  expect(normalInteger(-9_007_199_254_740_992n)).toBe(-9_007_199_254_740_992n);
  expect(checkValue({ a: [7n, { b: 2n ** 60n }] }, "x")).toEqual({ a: [7, { b: 2n ** 60n }] });
});

test("[V2] a number with integral value is an integer, also beyond 2^53", () => {
  expect(checkValue(2 ** 60, "x")).toBe(2n ** 60n);
  expect(checkValue(-(2 ** 63), "x")).toBe(-(2n ** 63n));
  expect(checkValue(2 ** 53, "x")).toBe(2n ** 53n);
  expect(checkValue([1e19], "x")).toEqual([10_000_000_000_000_000_000n]);
  expect(checkValue({ a: 1e19, b: 1 }, "x")).toEqual({ a: 10n ** 19n, b: 1 });
});

test("[V2] a whole float outside 64 bits stays a float", () => {
  for (const float of [2 ** 64, -(2 ** 63) - 2048, 1e300, Number.POSITIVE_INFINITY]) {
    expect(checkValue(float, "x")).toBe(float);
  }
});

test("[V2] checking gives the canonical form, is stable, and returns the same object if it is canonical", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(checkValue(value, "x")).toBe(value);
    }),
    RUNS,
  );
});

test("[V2] a copy made for one field keeps the others, NaN, -0 and `__proto__` included", () => {
  const input = JSON.parse('{"__proto__":{"a":1},"z":-0,"list":[0,0,0]}') as MutableObject;
  const marked = { ...input, nan: Number.NaN, big: 5n, list: [Number.NaN, 5n, -0, Number.NaN] };
  const checked = checkValue(marked, "x") as MutableObject;
  expect(isIdentical(checked, { ...marked, big: 5, list: [Number.NaN, 5, -0, Number.NaN] })).toBe(
    true,
  );
  expect(Object.getPrototypeOf(checked)).toBe(Object.prototype);
});

test("[V3] false < true < numbers < binary < text < arrays < objects < null < MISSING", () => {
  const ordered: (Value | undefined)[] = [
    false,
    true,
    Number.NEGATIVE_INFINITY,
    -(2n ** 63n),
    -1,
    0,
    0.5,
    1,
    Number.MAX_SAFE_INTEGER,
    2n ** 53n,
    2n ** 64n - 1n,
    2 ** 64,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    new Uint8Array([]),
    new Uint8Array([0]),
    new Uint8Array([0, 1]),
    new Uint8Array([1]),
    "",
    "\0",
    "a",
    "a\0",
    "b",
    "\ud7ff",
    "\uffff",
    "\u{10000}",
    [],
    [false],
    [false, false],
    [true],
    [null],
    {},
    { a: 1 },
    { a: 1, b: 0 },
    { a: 2 },
    { b: 0 },
    null,
    undefined,
  ];
  for (const [i, a] of ordered.entries()) {
    for (const [j, b] of ordered.entries()) expect(compareValues(a, b)).toBe(Math.sign(i - j));
  }
});

test("[V3] the order of values is total: reflexive, antisymmetric, transitive", () => {
  const missing = fc.option(values, { nil: undefined, freq: 20 });
  fc.assert(
    fc.property(missing, missing, missing, (a, b, c) => {
      const [ab, bc, ac] = [compareValues(a, b), compareValues(b, c), compareValues(a, c)];
      expect(compareValues(a, a)).toBe(0);
      expect(compareValues(b, a)).toBe(0 - ab + 0);
      if (ab <= 0 && bc <= 0) expect(ac).toBeLessThanOrEqual(0);
      if (ab === 0 && bc === 0) expect(ac).toBe(0);
      expect([-1, 0, 1]).toContain(ab);
      expect(equalValues(a, b)).toBe(ab === 0);
    }),
    RUNS,
  );
});

test("[V3] numbers compare exactly, whatever their form", () => {
  expect(compareNumbers(2 ** 53, 2n ** 53n)).toBe(0);
  expect(compareNumbers(2 ** 53, 2n ** 53n + 1n)).toBe(-1);
  expect(compareNumbers(2n ** 64n - 1n, 2 ** 64)).toBe(-1);
  expect(compareNumbers(0, -0)).toBe(0);
  expect(compareNumbers(Number.NaN, Number.NaN)).toBe(0);
  for (const number of EDGE_NUMBERS) {
    expect(compareNumbers(Number.NaN, number)).toBe(Number.isNaN(number) ? 0 : 1);
    expect(compareNumbers(number, Number.NaN)).toBe(Number.isNaN(number) ? 0 : -1);
  }
});

test("[V3] numbers are ordered like exact fractions", () => {
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      fc.pre(!Number.isNaN(a) && !Number.isNaN(b));
      fc.pre(Math.abs(Number(a)) !== Number.POSITIVE_INFINITY);
      fc.pre(Math.abs(Number(b)) !== Number.POSITIVE_INFINITY);
      const [x, y] = [toFraction(a), toFraction(b)];
      expect(compareNumbers(a, b)).toBe(x < y ? -1 : Number(x > y));
    }),
    RUNS,
  );
});

/** A finite number times 2^1074: every double is then an integer. */
function toFraction(number: number | bigint): bigint {
  if (typeof number === "bigint") return number * 2n ** 1074n;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 0x7ffn;
  const fraction = bits & 0xfffffffffffffn;
  const size = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return bits >> 63n === 1n ? -size : size;
}

test("[V3] text compares by code point, as its UTF-8 bytes do", () => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      expect(compareText(a, b)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    RUNS,
  );
  expect(sortedKeys({ "\u{10000}": 1, "\uffff": 2, a: 3 })).toEqual(["a", "\uffff", "\u{10000}"]);
});

test("[V3] the order of keys in an object does not matter", () => {
  expect(compareValues({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(0);
  expect(compareValues({ b: 1, a: 2 }, { a: 1, b: 2 })).toBe(1);
});

test("[V7] a lone surrogate is refused with its place, in text and in a key", () => {
  for (const text of ["\ud800", "a\udc00", "\udc00\ud800", "x\ud800y"]) {
    expect(failureOf(() => checkValue({ a: [text] }, "x")).at).toBe("x.a[0]");
    expect(failureOf(() => checkValue({ [text]: 1 }, "x")).at).toBe("x, a key");
  }
  for (const text of EDGE_TEXTS) expect(checkValue(text, "x")).toBe(text);
});

test("[V7] an integer outside 64 bits is refused with its place", () => {
  for (const integer of [2n ** 64n, -(2n ** 63n) - 1n, 10n ** 40n]) {
    expect(failureOf(() => checkValue([0, integer], "x")).at).toBe("x[1]");
  }
  expect(checkValue(2n ** 64n - 1n, "x")).toBe(2n ** 64n - 1n);
  expect(checkValue(-(2n ** 63n), "x")).toBe(-(2n ** 63n));
});

test("[V7] 64 levels of nesting are a value, 65 are refused", () => {
  const deepest = nested(DEPTH_MAX, 1);
  expect(checkValue(deepest, "x")).toBe(deepest);
  for (const inner of [1, [], {}]) {
    const tooDeep = nested(DEPTH_MAX + (inner === 1 ? 1 : 0), inner);
    expect(failureOf(() => checkValue(tooDeep, "x")).message).toContain("64 levels");
  }
});

test("a field is set and read as an own property, whatever its name", () => {
  const object: MutableObject = {};
  setField(object, "__proto__", 1);
  setField(object, "constructor", 2);
  setField(object, "__proto__", 3);
  expect(Object.keys(object)).toEqual(["__proto__", "constructor"]);
  expect(getField(object, "__proto__")).toBe(3);
  expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  for (const name of ["toString", "valueOf", "hasOwnProperty"]) {
    expect(getField(object, name)).toBeUndefined();
  }
});
