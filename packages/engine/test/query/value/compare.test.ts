/**
 * Comparison of data: the total order and its key, and what the operators make of it.
 */

import { compareValues } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import {
  compareData,
  dataKey,
  equalComparable,
  equalData,
  firstOfEquals,
  joinKeys,
  orderComparable,
} from "../../../src/query/value/compare.ts";
import { type Datum, Float, MISSING, toValue } from "../../../src/query/value/datum.ts";
import { anyDatum } from "../../support/any-datum.ts";

const RUNS = { numRuns: runs(2000) };

describe("the total order", () => {
  test("booleans < numbers < binary < strings < arrays < objects < null < MISSING", () => {
    const ordered: Datum[] = [
      false,
      true,
      -1,
      new Float(0),
      0.5,
      2n ** 60n,
      new Uint8Array([]),
      new Uint8Array([1]),
      "",
      "B",
      "a",
      [],
      [1],
      [1, 5],
      [2],
      {},
      { a: 1 },
      { a: 2 },
      { b: 1 },
      null,
      MISSING,
    ];
    for (let i = 0; i < ordered.length; i++) {
      for (let j = 0; j < ordered.length; j++) {
        expect(compareData(ordered[i], ordered[j])).toBe(Math.sign(i - j));
      }
    }
  });

  test("it is total: reflexive, antisymmetric, transitive", () => {
    fc.assert(
      fc.property(anyDatum, anyDatum, anyDatum, (a, b, c) => {
        expect(compareData(a, a)).toBe(0);
        expect(compareData(a, b) + compareData(b, a)).toBe(0);
        const [x, y, z] = [a, b, c].toSorted(compareData);
        expect(compareData(x, y)).toBeLessThanOrEqual(0);
        expect(compareData(y, z)).toBeLessThanOrEqual(0);
        expect(compareData(x, z)).toBeLessThanOrEqual(0);
      }),
      RUNS,
    );
  });

  test("it is the order of the stored values", () => {
    const valueOf = (datum: Datum): ReturnType<typeof toValue> | undefined =>
      datum === MISSING ? undefined : toValue(datum);
    fc.assert(
      fc.property(anyDatum, anyDatum, (a, b) => {
        expect(compareData(a, b)).toBe(compareValues(valueOf(a), valueOf(b)));
      }),
      RUNS,
    );
  });

  test("data are equal exactly if they order as 0 and have the same key", () => {
    fc.assert(
      fc.property(anyDatum, anyDatum, (a, b) => {
        expect(equalData(a, b)).toBe(compareData(a, b) === 0);
        expect(equalData(a, b)).toBe(dataKey(a) === dataKey(b));
        expect(dataKey(a)).toBe(dataKey(structuredCopy(a)));
      }),
      { numRuns: runs(5000) },
    );
  });

  test("a whole float equals the integer, to the last bit", () => {
    expect(equalData(1, new Float(1))).toBe(true);
    expect(equalData([{ a: 1 }], [{ a: new Float(1) }])).toBe(true);
    expect(equalData(0, new Float(-0))).toBe(true);
    expect(equalData(2n ** 60n, new Float(2 ** 60))).toBe(true);
    expect(equalData(2n ** 60n + 1n, new Float(2 ** 60))).toBe(false);
    expect(dataKey(2n ** 60n)).toBe(dataKey(new Float(2 ** 60)));
  });

  test("keys of arrays and objects keep their parts separate", () => {
    expect(dataKey(["a", "b"])).not.toBe(dataKey(["ab"]));
    expect(dataKey(["a", ["b"]])).not.toBe(dataKey([["a"], "b"]));
    expect(dataKey({ a: "b" })).not.toBe(dataKey(["a", "b"]));
    expect(dataKey({ a: 1, b: 2 })).toBe(dataKey({ b: 2, a: 1 }));
    expect(dataKey("n1")).not.toBe(dataKey(1));
  });

  test("two different lists of keys have different keys", () => {
    const keys = fc.array(fc.string({ unit: fc.constantFrom("1", ":", "a") }), { maxLength: 4 });
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        const isSame = a.length === b.length && a.every((key, i) => key === b[i]);
        expect(joinKeys(a) === joinKeys(b)).toBe(isSame);
      }),
      RUNS,
    );
  });

  test("only the first of equal data is returned, and only its key is counted", () => {
    const counted: number[] = [];
    const isFirst = firstOfEquals((bytes) => counted.push(bytes));
    expect([1, new Float(1), "1", 1, MISSING, null, MISSING].filter(isFirst)).toEqual([
      1,
      "1",
      MISSING,
      null,
    ]);
    expect(counted).toHaveLength(4);
  });
});

/** The same datum in other objects, keys the other way round. */
function structuredCopy(datum: Datum): Datum {
  if (Array.isArray(datum)) return datum.map((element) => structuredCopy(element) ?? null);
  if (typeof datum !== "object" || datum === null || datum instanceof Uint8Array) return datum;
  if (datum instanceof Float) return new Float(datum.value);
  return Object.fromEntries(
    Object.entries(datum)
      .toReversed()
      .map(([key, field]) => [key, structuredCopy(field) ?? null]),
  );
}

describe("the operators", () => {
  test("across types, and with MISSING, the result is MISSING", () => {
    const data: Datum[] = [true, 1, "1", new Uint8Array([1]), [1], { a: 1 }];
    for (const a of data) {
      expect(orderComparable(a, MISSING)).toBe(MISSING);
      expect(equalComparable(MISSING, a)).toBe(MISSING);
      for (const b of data) {
        if (a === b) continue;
        expect(orderComparable(a, b)).toBe(MISSING);
        expect(equalComparable(a, b)).toBe(MISSING);
      }
    }
  });

  test("null gives null, also with another type, but MISSING takes precedence", () => {
    for (const datum of [1, "a", null, [1], {}]) {
      expect(orderComparable(datum, null)).toBeNull();
      expect(equalComparable(null, datum)).toBeNull();
    }
    expect(equalComparable(null, MISSING)).toBe(MISSING);
    expect(orderComparable(MISSING, null)).toBe(MISSING);
  });

  test("integers and floats are one type and compare exactly", () => {
    expect(equalComparable(1, new Float(1))).toBe(true);
    expect(equalComparable(1, 1.5)).toBe(false);
    expect(orderComparable(9_007_199_254_740_993n, new Float(2 ** 53))).toBe(1);
    expect(orderComparable(2n ** 63n - 1n, 2n ** 63n)).toBe(-1);
    expect(orderComparable(new Float(0), new Float(-0))).toBe(0);
  });

  test("text is compared by code point", () => {
    expect(orderComparable("B", "a")).toBe(-1);
    expect(orderComparable("", "a")).toBe(-1);
    expect(orderComparable("\uffff", "\u{1f600}")).toBe(-1);
    expect(equalComparable("a", "A")).toBe(false);
  });

  test("arrays are compared by their elements, then by length", () => {
    expect(orderComparable([1, 2], [2, 1])).toBe(-1);
    expect(orderComparable([1], [1, 0])).toBe(-1);
    expect(orderComparable([2], [1, 5])).toBe(1);
    expect(orderComparable([1], [new Float(1)])).toBe(0);
    expect(equalComparable([1], [1, 0])).toBe(false);
  });

  test("the first unequal elements decide, even if one is null", () => {
    expect(equalComparable([1, null], [1, null])).toBeNull();
    expect(equalComparable([1, null], [2, null])).toBe(false);
    expect(equalComparable([null, 1], [null, 2])).toBeNull();
    expect(equalComparable([null], [null, null])).toBeNull();
    expect(equalComparable([1, null], [1])).toBe(false);
    expect(orderComparable([null], [null])).toBeNull();
    expect(orderComparable([1, null], [2, null])).toBe(-1);
    expect(orderComparable([], [null])).toBe(-1);
  });

  test("the first unequal elements decide, even if they cannot be compared", () => {
    expect(equalComparable([1], ["1"])).toBe(MISSING);
    expect(equalComparable([1], ["1", 2])).toBe(MISSING);
    expect(equalComparable([null, 1], [null, "1"])).toBeNull();
    expect(equalComparable([1, 2], ["1", 3])).toBe(MISSING);
    expect(equalComparable([1, "2"], [2, 2])).toBe(false);
  });

  test("NaN compares with nothing, not even with itself", () => {
    for (const other of [Number.NaN, 1, 2n ** 60n, new Float(1)]) {
      expect(equalComparable(Number.NaN, other)).toBe(MISSING);
      expect(orderComparable(other, Number.NaN)).toBe(MISSING);
    }
  });

  test("objects are equal whatever the order of their keys", () => {
    expect(equalComparable({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(equalComparable({ x: 1 }, { x: 1, y: 2 })).toBe(false);
    expect(equalComparable({ a: 1 }, { b: 1 })).toBe(false);
    expect(equalComparable({ a: null }, { a: null })).toBeNull();
    expect(equalComparable({ a: null }, { b: null })).toBe(false);
  });

  test("the first key that differs between objects decides, and an object without it is less", () => {
    expect(orderComparable({ b: 1 }, { a: 2 })).toBe(-1);
    expect(orderComparable({ a: 1 }, { b: 1 })).toBe(1);
    expect(orderComparable({}, { a: 1 })).toBe(-1);
    expect(orderComparable({ a: 1 }, { a: 1, b: 1 })).toBe(-1);
    expect(orderComparable({ a: 2 }, { a: 1, b: 9 })).toBe(1);
    expect(orderComparable({ a: 1, b: 1 }, { b: 1 })).toBe(1);
    expect(orderComparable({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(0);
    expect(orderComparable({ a: null }, { a: 1 })).toBeNull();
    expect(orderComparable({ a: null }, {})).toBe(1);
  });

  test("they are consistent with each other, and symmetric", () => {
    fc.assert(
      fc.property(anyDatum, anyDatum, (a, b) => {
        const order = orderComparable(a, b);
        const back = orderComparable(b, a);
        expect(back).toBe(typeof order === "number" ? 0 - order : order);
        const equality = equalComparable(a, b);
        expect(equalComparable(b, a)).toBe(equality);
        if (typeof order === "number") expect(equality).toBe(order === 0);
        if (equality === true) expect(equalData(a, b)).toBe(true);
      }),
      RUNS,
    );
  });

  test("for scalars they agree with the total order", () => {
    fc.assert(
      fc.property(anyDatum, anyDatum, (a, b) => {
        const order = orderComparable(a, b);
        const isScalar = typeof a !== "object" || a instanceof Float || a instanceof Uint8Array;
        if (typeof order === "number" && isScalar) expect(order).toBe(compareData(a, b));
      }),
      RUNS,
    );
  });
});
