/**
 * CAST: what each type becomes, and what becomes MISSING.
 */

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CastType } from "../../../src/query/value/cast.ts";
import { castDatum, castTypeOf } from "../../../src/query/value/cast.ts";
import {
  type Datum,
  Float,
  MISSING,
  type Outcome,
  toFloat,
} from "../../../src/query/value/datum.ts";
import { reasonOf } from "../../support/function-call.ts";

const TYPES: readonly CastType[] = [
  "integer",
  "float",
  "string",
  "boolean",
  "binary",
  "array",
  "object",
];

function expectCasts(type: CastType, cases: readonly (readonly [Datum, Outcome])[]): void {
  for (const [datum, result] of cases) expect(castDatum(datum, type)).toStrictEqual(result);
}

test("null stays null and MISSING stays MISSING, whatever the type", () => {
  for (const type of TYPES) {
    expect(castDatum(null, type)).toBeNull();
    expect(castDatum(MISSING, type)).toBe(MISSING);
  }
});

describe("to an integer", () => {
  test("floats are truncated, booleans are 1 and 0", () => {
    expectCasts("integer", [
      [5, 5],
      [2n ** 60n, 2n ** 60n],
      [new Float(1), 1],
      [1.9, 1],
      [-1.9, -1],
      [-0.5, 0],
      [new Float(9.3e18), 9_300_000_000_000_000_000n],
      [true, 1],
      [false, 0],
    ]);
  });

  test("text must consist of digits only, or be hexadecimal", () => {
    expectCasts("integer", [
      ["12", 12],
      ["-12", -12],
      ["+12", 12],
      ["007", 7],
      ["-0", 0],
      ["0x10", 16],
      ["9223372036854775808", 2n ** 63n],
      ["18446744073709551615", 2n ** 64n - 1n],
      [`${"0".repeat(100)}1`, 1],
      [" 12 ", MISSING],
      ["1e3", MISSING],
      ["1.5", MISSING],
      ["", MISSING],
      ["-", MISSING],
      ["0x", MISSING],
      ["true", MISSING],
    ]);
  });

  test("a value outside 64 bits is MISSING", () => {
    expectCasts("integer", [
      ["18446744073709551616", MISSING],
      ["9".repeat(100_000), MISSING],
      [1e20, MISSING],
      [Number.NaN, MISSING],
      [Number.POSITIVE_INFINITY, MISSING],
    ]);
  });

  test("a long text of zeros that is not a number is refused in one pass", () => {
    expect(castDatum(`${"0".repeat(1_000_000)}x`, "integer")).toBe(MISSING);
    expect(castDatum(`${"1".repeat(1_000_000)}x`, "float")).toBe(MISSING);
  });

  test("binary, arrays and objects are MISSING", () => {
    expectCasts("integer", [
      [new Uint8Array([1]), MISSING],
      [[1], MISSING],
      [{ a: 1 }, MISSING],
    ]);
  });
});

test("to a float: numbers, booleans, and text that is a number literal", () => {
  expectCasts("float", [
    [1, new Float(1)],
    [1.9, 1.9],
    [2n ** 60n, new Float(2 ** 60)],
    [1e20, 1e20],
    [true, new Float(1)],
    ["12", new Float(12)],
    ["1.5", 1.5],
    ["-.5", -0.5],
    ["5.", new Float(5)],
    ["1e3", new Float(1000)],
    ["NaN", Number.NaN],
    ["-inf", Number.NEGATIVE_INFINITY],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["abc", MISSING],
    ["", MISSING],
    ["true", MISSING],
    ["0x10", MISSING],
    [" 1", MISSING],
    [[], MISSING],
  ]);
});

test("to text: numbers as digits, arrays and objects as JSON, binary as a list of its bytes", () => {
  expectCasts("string", [
    ['a"b', 'a"b'],
    [0, "0"],
    [-1, "-1"],
    [2n ** 63n, "9223372036854775808"],
    [new Float(1), "1"],
    [0.1, "0.1"],
    [1e21, "1000000000000000000000"],
    [true, "true"],
    [[1], "[1]"],
    [[], "[]"],
    [{ b: 1, a: "x" }, '{"a":"x","b":1}'],
    [new Uint8Array([0x61, 0xc3, 0xa9]), "[97,195,169]"],
    [new Uint8Array(), "[]"],
  ]);
});

test("to a boolean: numbers by whether they are zero, text only as true or false", () => {
  expectCasts("boolean", [
    [true, true],
    [0, false],
    [new Float(0), false],
    [1, true],
    [-1.9, true],
    [2n ** 60n, true],
    ["true", true],
    ["false", false],
    ["TRUE", MISSING],
    ["1", MISSING],
    ["", MISSING],
    [[], MISSING],
  ]);
});

test("to binary: text as UTF-8, numbers as eight bytes, a boolean as one, everything else as JSON", () => {
  expectCasts("binary", [
    ["aé", new Uint8Array([0x61, 0xc3, 0xa9])],
    [new Uint8Array([1]), new Uint8Array([1])],
    [1, new Uint8Array([0, 0, 0, 0, 0, 0, 0, 1])],
    [-(2n ** 63n), new Uint8Array([0x80, 0, 0, 0, 0, 0, 0, 0])],
    [2.5, new Uint8Array([0x40, 4, 0, 0, 0, 0, 0, 0])],
    [true, new Uint8Array([1])],
    [[1], new Uint8Array([0x5b, 0x31, 0x5d])],
  ]);
});

test("to an array or an object: every cast fails", () => {
  for (const datum of ["[1]", 1, [1], { a: 1 }]) {
    expect(reasonOf(castDatum(datum, "array"))).toContain("expected a type to cast to");
    expect(reasonOf(castDatum(datum, "object"))).toContain("expected a type to cast to");
  }
});

test("names of types are recognised in any case", () => {
  expect(castTypeOf("INT")).toBe("integer");
  expect(castTypeOf("Integer")).toBe("integer");
  for (const type of TYPES) expect(castTypeOf(type)).toBe(type);
  expect(castTypeOf("varchar")).toBeUndefined();
});

test("a value cast to text and back is unchanged", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (integer) => {
      const datum = castDatum(String(integer), "integer");
      expect(datum).toEqual(castDatum(castDatum(datum as Datum, "string") as Datum, "integer"));
      expect(BigInt(datum as number | bigint)).toBe(integer);
    }),
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (double) => {
      const float = toFloat(Object.is(double, -0) ? 0 : double);
      const text = castDatum(float, "string");
      expect(castDatum(text as Datum, "float")).toStrictEqual(float);
    }),
  );
});
