/**
 * The table of functions: names, and what only the filter language calls.
 */

import { expect, test } from "vitest";
import { FUNCTION_NAMES, FUNCTIONS, findFunction } from "../../../src/query/functions/table.ts";
import { Float, MISSING } from "../../../src/query/value/datum.ts";
import { call, reasonOf } from "../../support/function-call.ts";

test("names are in lower case, and each has its own entry", () => {
  for (const [name, spec] of FUNCTIONS) {
    expect(name).toBe(name.toLowerCase());
    expect(spec.name).toBe(name);
    expect(spec.arity[0]).toBeLessThanOrEqual(spec.arity[1]);
  }
  expect(findFunction("upper")?.arity).toEqual([1, 1]);
  expect(findFunction("nosuchfunction")).toBeUndefined();
});

test("functions of the filter language alone are found but not listed", () => {
  expect(findFunction("filter_contains")).toBeDefined();
  expect(FUNCTION_NAMES).not.toContain("filter_contains");
  expect(FUNCTION_NAMES).toHaveLength(FUNCTIONS.size - 1);
});

test("filter_contains searches for an element of an array, or a part of a text", () => {
  expect(call("filter_contains", [1, "a"], new Float(1))).toBe(true);
  expect(call("filter_contains", [1], 2)).toBe(false);
  expect(call("filter_contains", [null], null)).toBe(true);
  expect(call("filter_contains", "abc", "b")).toBe(true);
  expect(call("filter_contains", "abc", null)).toBeNull();
  expect(call("filter_contains", null, 1)).toBeNull();
  expect(call("filter_contains", MISSING, 1)).toBe(MISSING);
  expect(call("filter_contains", [1], MISSING)).toBe(MISSING);
  expect(reasonOf(call("filter_contains", "1", 1))).toBe("expected text, found an integer");
  expect(reasonOf(call("filter_contains", 1, 1))).toBe(
    "expected an array or text, found an integer",
  );
});
