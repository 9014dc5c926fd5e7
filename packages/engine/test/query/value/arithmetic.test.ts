/**
 * Arithmetic and `||`: exact integers, floats that stay floats, and what comes before what.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import {
  add,
  concat,
  DIVISION_BY_ZERO,
  divide,
  multiply,
  negate,
  OVERFLOW,
  remainder,
  subtract,
} from "../../../src/query/value/arithmetic.ts";
import {
  approximate,
  Failure,
  Float,
  isNumeric,
  MISSING,
  type Outcome,
  toFloat,
} from "../../../src/query/value/datum.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "../../../src/query/value/size-bound.ts";
import { reasonOf } from "../../support/function-call.ts";

const OPERATORS = { add, subtract, multiply, divide, remainder };
const FAILED = new Failure("failed before");

const integers: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: -20n, max: 20n }),
  fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
  fc.bigInt({ min: INTEGER_MIN, max: INTEGER_MAX }),
  fc.constantFrom(INTEGER_MIN, INTEGER_MAX, 2n ** 53n, 2n ** 53n - 1n, 2n ** 63n, 2n ** 32n),
);

const floats: fc.Arbitrary<number | Float> = fc
  .oneof(fc.double({ noNaN: true }), fc.integer(), fc.constantFrom(0.5, -0.5, 1e300, 2 ** 60))
  .map(toFloat);

function expected(integer: bigint): Outcome {
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? OVERFLOW : normalInteger(integer);
}

describe("integers", () => {
  const exact: readonly [Exact, (a: bigint, b: bigint) => bigint][] = [
    [add, (a, b) => a + b],
    [subtract, (a, b) => a - b],
    [multiply, (a, b) => a * b],
    [divide, (a, b) => a / b],
    [remainder, (a, b) => a % b],
  ];
  type Exact = (a: Outcome, b: Outcome) => Outcome;

  test("every operator agrees with exact integers, and fails beyond 64 bits", () => {
    fc.assert(
      fc.property(integers, integers, (a, b) => {
        for (const [operator, calculate] of exact) {
          const isDivision = operator === divide || operator === remainder;
          const result = operator(normalInteger(a), normalInteger(b));
          expect(result).toBe(
            isDivision && b === 0n ? DIVISION_BY_ZERO : expected(calculate(a, b)),
          );
        }
        expect(negate(normalInteger(a))).toBe(expected(-a));
      }),
      { numRuns: runs(3000) },
    );
  });

  test("they continue past 2^63 to 2^64-1, and no further", () => {
    expect(multiply(2n ** 62n, 2)).toBe(2n ** 63n);
    expect(add(INTEGER_MAX, 1)).toBe(OVERFLOW);
    expect(subtract(INTEGER_MIN, 1)).toBe(OVERFLOW);
    expect(divide(INTEGER_MIN, -1)).toBe(2n ** 63n);
  });

  test("division truncates towards zero, and the remainder has the sign of the left side", () => {
    expect(divide(7, 2)).toBe(3);
    expect(divide(-7, 2)).toBe(-3);
    expect(remainder(-7, 3)).toBe(-1);
    expect(remainder(7, -3)).toBe(1);
  });

  test("no integer is -0", () => {
    expect(multiply(0, -5)).toBe(0);
    expect(divide(-1, 2)).toBe(0);
    expect(remainder(-4, 2)).toBe(0);
    expect(negate(0)).toBe(0);
  });
});

describe("floats", () => {
  test("one float makes the result a float, whole or not", () => {
    fc.assert(
      fc.property(floats, fc.oneof(floats, fc.integer()), (a, b) => {
        const [x, y] = [approximate(a), approximate(b)];
        expect(add(a, b)).toStrictEqual(toFloat(x + y));
        expect(add(b, a)).toStrictEqual(toFloat(x + y));
        expect(subtract(a, b)).toStrictEqual(toFloat(x - y));
        expect(multiply(a, b)).toStrictEqual(toFloat(x * y));
        expect(divide(a, b)).toStrictEqual(y === 0 ? DIVISION_BY_ZERO : toFloat(x / y));
        expect(remainder(a, b)).toStrictEqual(y === 0 ? DIVISION_BY_ZERO : toFloat(x % y));
        expect(negate(a)).toStrictEqual(toFloat(-x));
      }),
      { numRuns: runs(2000) },
    );
  });

  test("7.0 / 2 is 3.5, 1.0 - 1 is 0.0, 0.5 + 0.5 is 1.0", () => {
    expect(divide(new Float(7), 2)).toBe(3.5);
    expect(subtract(new Float(1), 1)).toStrictEqual(new Float(0));
    expect(add(0.5, 0.5)).toStrictEqual(new Float(1));
    expect(negate(-1e19)).toStrictEqual(new Float(1e19));
  });

  test("a result that is too large is infinite, not a failure", () => {
    expect(multiply(1e308, 10)).toBe(Number.POSITIVE_INFINITY);
  });

  test("division by a zero of any kind fails", () => {
    for (const zero of [0, new Float(0), new Float(-0)]) {
      for (const number of [1, new Float(1), 1.5, 2n ** 60n, 0]) {
        expect(divide(number, zero)).toBe(DIVISION_BY_ZERO);
        expect(remainder(number, zero)).toBe(DIVISION_BY_ZERO);
      }
    }
  });
});

describe("operands that are not numbers", () => {
  test("a failure takes precedence over MISSING, MISSING over null, null over a wrong type", () => {
    for (const operator of Object.values(OPERATORS)) {
      for (const [a, b, result] of [
        [FAILED, MISSING, FAILED],
        [1, FAILED, FAILED],
        [MISSING, null, MISSING],
        [null, MISSING, MISSING],
        [null, "a", null],
        [1, null, null],
      ] as const) {
        expect(operator(a, b)).toBe(result);
      }
    }
  });

  test("other types are never converted to numbers", () => {
    for (const operator of Object.values(OPERATORS)) {
      for (const datum of ["1", true, [1], { a: 1 }, new Uint8Array([1])]) {
        expect(reasonOf(operator(datum, 1))).toContain("expected a number");
        expect(reasonOf(operator(1, datum))).toContain("expected a number");
      }
    }
    expect(reasonOf(add("a", 1))).toBe("expected a number, found text");
  });

  test("unary minus passes null, MISSING and failures through, and refuses other types", () => {
    expect(negate(null)).toBeNull();
    expect(negate(MISSING)).toBe(MISSING);
    expect(negate(FAILED)).toBe(FAILED);
    expect(reasonOf(negate(true))).toBe("expected a number, found a boolean");
  });

  test("the same failure is one object, however many rows fail", () => {
    expect(add("a", 1)).toBe(subtract("b", 2));
    expect(isNumeric(add("a", 1))).toBe(false);
  });
});

describe("||", () => {
  test("joins two texts, and nothing else", () => {
    expect(concat("a", "b")).toBe("ab");
    expect(concat("a", "")).toBe("a");
    expect(reasonOf(concat("a", 1))).toBe("expected text, found an integer");
    expect(reasonOf(concat([1], [2]))).toBe("expected text, found an array");
  });

  test("returns the first null or MISSING from the left", () => {
    expect(concat(null, MISSING)).toBeNull();
    expect(concat(MISSING, null)).toBe(MISSING);
    expect(concat("a", null)).toBeNull();
    expect(concat(null, FAILED)).toBe(FAILED);
  });

  test("fails for text that would be too long", () => {
    const half = "x".repeat(TEXT_LENGTH_MAX / 2);
    expect(concat(half, half)).toHaveLength(TEXT_LENGTH_MAX);
    expect(concat(`${half}x`, half)).toBe(TEXT_TOO_LONG);
  });
});
