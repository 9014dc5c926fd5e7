/**
 * What the slow obvious evaluator promises of the order of rows, and that a breach is found.
 */
import { expect, test } from "vitest";
import { checkRows } from "./select.ts";

const everything = { offset: 0, limit: Number.POSITIVE_INFINITY };

test("rows within a run may be in any order, runs may not", () => {
  const expected = { runs: [[1, 2], [3]], ...everything };
  expect(checkRows(expected, [1, 2, 3])).toBeUndefined();
  expect(checkRows(expected, [2, 1, 3])).toBeUndefined();
  expect(checkRows(expected, [1, 3, 2])).toBeDefined();
});

test("an extra, missing or repeated row is found", () => {
  const expected = { runs: [[1, 2, 2]], ...everything };
  expect(checkRows(expected, [2, 1, 2])).toBeUndefined();
  expect(checkRows(expected, [1, 2])).toBeDefined();
  expect(checkRows(expected, [1, 1, 2])).toBeDefined();
  expect(checkRows(expected, [1, 2, 2, 2])).toBeDefined();
});

test("a run cut by LIMIT or OFFSET may return any of its rows, as many as remain", () => {
  const runs = [[1, 2], [3, 4], [5]];
  expect(checkRows({ runs, offset: 1, limit: 2 }, [2, 4])).toBeUndefined();
  expect(checkRows({ runs, offset: 1, limit: 2 }, [1, 3])).toBeUndefined();
  expect(checkRows({ runs, offset: 1, limit: 2 }, [3, 4])).toBeDefined();
  expect(checkRows({ runs, offset: 4, limit: 3 }, [5])).toBeUndefined();
  expect(checkRows({ runs, offset: 9, limit: 3 }, [])).toBeUndefined();
  expect(checkRows({ runs, offset: 0, limit: 0 }, [1])).toBeDefined();
});
