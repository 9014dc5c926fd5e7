/**
 * Time series of the overview: new points are added once, and old ones go.
 */
import { expect, test } from "vitest";
import { appended, greatest, NO_POINTS, sampled } from "../src/data/time-series.ts";

test("points that are newer than the last are added, and the oldest go", () => {
  const first = appended(NO_POINTS, { at: [1, 2, 3], values: { a: [1, null, 3] } }, 4);
  expect(first).toEqual({ at: [1, 2, 3], values: { a: [1, null, 3] } });
  const second = appended(first, { at: [3, 4, 5], values: { a: [9, 4, 5], b: [0, 1, 2] } }, 4);
  expect(second).toEqual({
    at: [2, 3, 4, 5],
    values: { a: [null, 3, 4, 5], b: [null, null, 1, 2] },
  });
  expect(appended(second, { at: [5], values: { a: [7] } }, 4)).toBe(second);
});

test("a table has the last point and every step before it", () => {
  expect(sampled(10, 4)).toEqual([9, 5, 1]);
  expect(sampled(0, 4)).toEqual([]);
  expect(greatest([null, 2, 7, null])).toBe(7);
  expect(greatest([])).toBe(0);
});
