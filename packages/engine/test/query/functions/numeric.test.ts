/**
 * Numeric functions.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { OVERFLOW } from "../../../src/query/value/arithmetic.ts";
import { approximate, Float, isNumeric, MISSING, toFloat } from "../../../src/query/value/datum.ts";
import { call, reasonOf } from "../../support/function-call.ts";

const REAL = [
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "degrees",
  "radians",
];
const ALL = ["abs", "ceil", "floor", "round", ...REAL];

test("null gives null, MISSING gives MISSING, and a value that is not a number fails", () => {
  for (const name of ALL) {
    expect(call(name, null)).toBeNull();
    expect(call(name, MISSING)).toBe(MISSING);
    for (const datum of ["1", true, [1], { a: 1 }, new Uint8Array([1])]) {
      expect(reasonOf(call(name, datum))).toContain("expected a number");
    }
  }
});

test("rounding leaves integers as they are and floats as floats", () => {
  for (const name of ["ceil", "floor", "round"]) {
    expect(call(name, -3)).toBe(-3);
    expect(call(name, 2n ** 60n)).toBe(2n ** 60n);
    expect(call(name, 1e20)).toBe(1e20);
  }
  expect(call("ceil", 2.4)).toStrictEqual(new Float(3));
  expect(call("floor", -2.4)).toStrictEqual(new Float(-3));
  expect(call("round", new Float(3))).toStrictEqual(new Float(3));
});

test("abs of the least integer is exact", () => {
  expect(call("abs", -3)).toBe(3);
  expect(call("abs", -2.5)).toBe(2.5);
  expect(call("abs", new Float(-0))).toStrictEqual(new Float(0));
  expect(call("abs", -(2n ** 63n))).toBe(2n ** 63n);
});

test("round rounds half away from zero", () => {
  expect(call("round", 2.5)).toStrictEqual(new Float(3));
  expect(call("round", -2.5)).toStrictEqual(new Float(-3));
  expect(call("round", 0.499_999_999_999_999_94)).toStrictEqual(new Float(0));
});

test("round uses the exact binary value of a float", () => {
  expect(call("round", 8.765_43, 2)).toBe(8.77);
  expect(call("round", 2.675, 2)).toBe(2.68);
  expect(call("round", 1.005, 2)).toStrictEqual(new Float(1));
  expect(call("round", 1.5e-7, 7)).toBe(2e-7);
  expect(call("round", 1234.5, -2)).toStrictEqual(new Float(1200));
  expect(call("round", 0.1, 400)).toBe(0.1);
  expect(call("round", 1e300, -400)).toStrictEqual(new Float(0));
  expect(call("round", Number.NaN, 2)).toBeNaN();
  expect(call("round", Number.POSITIVE_INFINITY, 2)).toBe(Number.POSITIVE_INFINITY);
});

test("round of an integer to negative digits is exact", () => {
  expect(call("round", 1250, -2)).toBe(1300);
  expect(call("round", -1250, -2)).toBe(-1300);
  expect(call("round", 1249, -2)).toBe(1200);
  expect(call("round", 7, 5)).toBe(7);
  expect(call("round", 5, -30)).toBe(0);
  expect(reasonOf(call("round", 2n ** 64n - 1n, -19))).toBe(OVERFLOW.reason);
  expect(call("round", 2n ** 63n, -1)).toBe(9_223_372_036_854_775_810n);
});

test("the digits of round must be an integer", () => {
  expect(call("round", 8.765_43, new Float(2))).toBe(8.77);
  expect(call("round", 8.765_43, null)).toBeNull();
  expect(reasonOf(call("round", 8.765_43, 1.9))).toBe("expected an integer, found a float");
  expect(reasonOf(call("round", 8.765_43, "a"))).toBe("expected an integer, found text");
});

test("a rounded float is at most half a unit away, and rounding again changes nothing", () => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 });
  fc.assert(
    fc.property(finite, fc.integer({ min: -8, max: 8 }), (float, digits) => {
      const rounded = call("round", toFloat(float === 0 ? 0.25 : float), digits);
      expect(isNumeric(rounded)).toBe(true);
      const distance = Math.abs(approximate(rounded as Float) - (float === 0 ? 0.25 : float));
      // The rounded number may lie between two floats, and those are further apart the larger it is.
      const apart = Number.EPSILON * Math.abs(float);
      expect(distance).toBeLessThanOrEqual(0.500_001 * 10 ** -digits + apart);
      expect(call("round", rounded, digits)).toStrictEqual(rounded);
    }),
  );
});

test("trigonometric functions return floats, and NaN where there is no result", () => {
  expect(call("sin", 0)).toStrictEqual(new Float(0));
  expect(call("cos", 0)).toStrictEqual(new Float(1));
  expect(call("acos", 0)).toBe(Math.PI / 2);
  expect(call("asin", 2)).toBeNaN();
  expect(call("degrees", Math.PI)).toStrictEqual(new Float(180));
  expect(call("radians", 180)).toBe(Math.PI);
  expect(call("atan2", 0, 1)).toStrictEqual(new Float(0));
  expect(call("atan2", 1, 2)).toBe(Math.atan2(1, 2));
  expect(call("atan2", null, MISSING)).toBe(MISSING);
  expect(reasonOf(call("atan2", 1, "2"))).toBe("expected a number, found text");
  expect(reasonOf(call("atan2", "1", 2))).toBe("expected a number, found text");
  for (const name of REAL)
    expect(typeof approximate(call(name, 2n ** 60n) as number)).toBe("number");
});
