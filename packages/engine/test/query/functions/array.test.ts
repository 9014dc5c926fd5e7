/**
 * Array functions: what they find, what they make, and that they leave their arguments alone.
 */

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareData, equalData } from "../../../src/query/value/compare.ts";
import { type Datum, Float, MISSING, type PresentDatum } from "../../../src/query/value/datum.ts";
import { anyPresentDatum } from "../../support/any-datum.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";

const anyArray: fc.Arbitrary<PresentDatum[]> = fc.array(anyPresentDatum, { maxLength: 6 });

test("a value that is not an array fails, null gives null, MISSING gives MISSING", () => {
  const calls: [string, ...Datum[]][] = [
    ["array_length"],
    ["array_contains_null"],
    ["array_reverse"],
    ["array_sort"],
    ["array_concat", [1]],
    ["array_union", [1]],
    ["array_intersect", [1]],
    ["array_except", [1]],
    ["array_zip", [1]],
    ["array_contains", 1],
    ["array_position", 1],
    ["array_flatten", 1],
    ["array_append", 1],
    ["array_insert", 0, 1],
    ["array_remove", 1],
    ["array_replace", 1, 2],
  ];
  for (const [name, ...rest] of calls) {
    expect(call(name, null, ...rest)).toBeNull();
    expect(call(name, MISSING, ...rest)).toBe(MISSING);
    for (const datum of ["abc", 1, { a: 1 }]) {
      expect(reasonOf(call(name, datum, ...rest))).toContain("expected an array, found");
    }
  }
  for (const name of ["array_concat", "array_union", "array_intersect", "array_except"]) {
    expect(call(name, [1], null)).toBeNull();
    expect(reasonOf(call(name, [1], 1))).toBe("expected an array, found an integer");
  }
});

describe("searching for elements", () => {
  test("1 and 1.0 are equal, '1' is different, objects compare by content", () => {
    expect(call("array_contains", [1, 2], new Float(2))).toBe(true);
    expect(call("array_contains", [1], "1")).toBe(false);
    expect(call("array_contains", [{ a: 1, b: 2 }], { b: 2, a: 1 })).toBe(true);
    expect(call("array_contains", [], 1)).toBe(false);
    expect(call("array_position", [5, 6, 7], 6)).toBe(1);
    expect(call("array_position", [5, 6, 7], 9)).toBe(-1);
  });

  test("null is never found; array_contains_null searches for it", () => {
    expect(call("array_contains", [null], null)).toBeNull();
    expect(call("array_position", [null], null)).toBeNull();
    expect(call("array_contains", [1, null], 1)).toBe(true);
    expect(call("array_contains_null", [1, null])).toBe(true);
    expect(call("array_contains_null", [1])).toBe(false);
    expect(call("array_length", [1, null])).toBe(2);
  });
});

describe("changing an array", () => {
  test("append and insert accept null as an element; MISSING makes the result MISSING", () => {
    expect(call("array_append", [1], 2, [3])).toEqual([1, 2, [3]]);
    expect(call("array_append", [], null)).toEqual([null]);
    expect(call("array_append", [1], MISSING)).toBe(MISSING);
    expect(call("array_insert", [1], 0, null)).toEqual([null, 1]);
    expect(call("array_insert", [1], 0, MISSING)).toBe(MISSING);
    expect(call("array_insert", [1], null, 1)).toBeNull();
  });

  test("insert counts from 0, or from the end, and stays within the array", () => {
    expect(call("array_insert", [1, 2, 3], 1, 8, 9)).toEqual([1, 8, 9, 2, 3]);
    expect(call("array_insert", [1, 2, 3], -1, 9)).toEqual([1, 2, 9, 3]);
    expect(call("array_insert", [1, 2, 3], 7, 9)).toEqual([1, 2, 3, 9]);
    expect(call("array_insert", [1, 2, 3], -7, 9)).toEqual([9, 1, 2, 3]);
    expect(reasonOf(call("array_insert", [1], "0", 1))).toBe("expected an integer, found text");
  });

  test("remove removes all elements that equal one of several values", () => {
    expect(call("array_remove", [1, new Float(1), "1", 2], 1, 2)).toEqual(["1"]);
    expect(call("array_remove", [1, null], null)).toEqual([1]);
    expect(call("array_remove", [1], 9)).toEqual([1]);
  });

  test("replace replaces all occurrences, or the given number of them", () => {
    expect(call("array_replace", [1, 2, 1], 1, 9)).toEqual([9, 2, 9]);
    expect(call("array_replace", [1, 2, 1], 1, 9, 1)).toEqual([9, 2, 1]);
    expect(call("array_replace", [1, 1], 1, 2, 0)).toEqual([1, 1]);
    expect(call("array_replace", [1, null], null, 9)).toEqual([1, 9]);
    expect(call("array_replace", [1], 1, null)).toEqual([null]);
    expect(call("array_replace", [1], 1, 2, null)).toBeNull();
    expect(call("array_replace", [1], MISSING, 2)).toBe(MISSING);
    expect(reasonOf(call("array_replace", [1], 1, 2, -1))).toBe("expected an integer of 0 or more");
  });

  test("flatten flattens the given number of levels", () => {
    expect(call("array_flatten", [1, [2, [3]]], 0)).toEqual([1, [2, [3]]]);
    expect(call("array_flatten", [1, [2, [3]]], 1)).toEqual([1, 2, [3]]);
    expect(call("array_flatten", [1, [2, [3]]], 2)).toEqual([1, 2, 3]);
    expect(call("array_flatten", [[], [[]]], 1)).toEqual([[]]);
    expect(reasonOf(call("array_flatten", [1], -1))).toBe("expected an integer of 0 or more");
    expect(call("array_flatten", [1], null)).toBeNull();
  });

  test("zip takes one element of each array in turn", () => {
    expect(call("array_zip", [1, 2], ["a", "b"])).toEqual([1, "a", 2, "b"]);
    expect(call("array_zip", [1], ["a", "b", "c"])).toEqual([1, "a", "b", "c"]);
  });

  test("reverse and concat keep every element", () => {
    expect(call("array_reverse", [1, 2, 3])).toEqual([3, 2, 1]);
    expect(call("array_concat", [1], [], [[2]], [3])).toEqual([1, [2], 3]);
  });

  test("no function changes its arguments", () => {
    const given = Object.freeze([3, 1, 2, Object.freeze([1])]);
    for (const name of ["array_reverse", "array_sort"]) call(name, given);
    for (const name of ["array_union", "array_concat", "array_zip"]) call(name, given, given);
    call("array_append", given, 1);
    call("array_insert", given, 1, 1);
    call("array_flatten", given, 1);
    expect(given).toEqual([3, 1, 2, [1]]);
  });
});

test("array_sort uses the order of ORDER BY", () => {
  expect(call("array_sort", [null, 1, "a", true, [1], { a: 1 }, new Float(0), false])).toEqual([
    false,
    true,
    new Float(0),
    1,
    "a",
    [1],
    { a: 1 },
    null,
  ]);
  fc.assert(
    fc.property(anyArray, (array) => {
      const sorted = call("array_sort", array) as PresentDatum[];
      expect(sorted).toHaveLength(array.length);
      for (let i = 1; i < sorted.length; i++) {
        expect(compareData(sorted[i - 1], sorted[i])).toBeLessThanOrEqual(0);
      }
    }),
  );
});

describe("sets", () => {
  test("they hold each element once, in the order of first occurrence", () => {
    expect(call("array_union", [3, 1], [1, 2], [3])).toEqual([3, 1, 2]);
    expect(call("array_intersect", [3, 2, 2, 1], [1, 2, 3], [2, 3])).toEqual([3, 2]);
    expect(call("array_intersect", [null], [null])).toEqual([null]);
    expect(call("array_except", [1, 1, 2], [2])).toEqual([1]);
    expect(call("array_except", [1, new Float(2)], [new Float(1), 2])).toEqual([]);
  });

  test("they equal the result of comparing every element with every other", () => {
    const isIn = (array: readonly PresentDatum[], datum: Datum): boolean =>
      array.some((element) => equalData(element, datum));
    const distinct = (array: readonly PresentDatum[]): PresentDatum[] =>
      array.filter((element, i) => !isIn(array.slice(0, i), element));
    fc.assert(
      fc.property(anyArray, anyArray, (a, b) => {
        expect(call("array_union", a, b)).toEqual(distinct([...a, ...b]));
        expect(call("array_intersect", a, b)).toEqual(distinct(a).filter((x) => isIn(b, x)));
        expect(call("array_except", a, b)).toEqual(distinct(a).filter((x) => !isIn(b, x)));
      }),
    );
  });
});

describe("limits", () => {
  const large = Array.from({ length: 5000 }, (_, i) => i);

  test("the memory of a large array is counted before it is built", () => {
    for (const [name, ...args] of [
      ["array_concat", large, large],
      ["array_union", large, large],
      ["array_reverse", large],
      ["array_sort", large],
      ["array_append", large, 1],
      ["array_flatten", [large, large], 1],
    ] as const) {
      const run = testRun({ bytesMax: 70_000 });
      expect(() => callFunction(name, args, run)).toThrow("70000 bytes");
    }
  });

  test("flattening an array that contains another many times over ends at the time limit", () => {
    let array: PresentDatum[] = [];
    for (let i = 0; i < 40; i++) array = [array, array];
    const run = testRun({ msPerLook: 10, timeMsMax: 1000 });
    expect(() => callFunction("array_flatten", [array, 64], run)).toThrow("longer than 1000 ms");
  });

  test("sorting and searching check the clock", () => {
    const run = testRun({ msPerLook: 2000, bytesMax: 2 ** 30 });
    expect(() => callFunction("array_sort", [large.toReversed()], run)).toThrow("longer than");
    const other = testRun({ msPerLook: 2000 });
    const huge = Array.from({ length: 100_000 }, () => 1);
    expect(() => callFunction("array_contains", [huge, 2], other)).toThrow("longer than");
  });
});
