/**
 * Functions that choose one of their arguments.
 */

import { expect, test } from "vitest";
import { Failure, Float, MISSING } from "../../../src/query/value/datum.ts";
import { call } from "../../support/function-call.ts";

test("ifnull returns the first argument that is not null, and passes MISSING through", () => {
  expect(call("ifnull", null, 1)).toBe(1);
  expect(call("ifnull", 2, 1)).toBe(2);
  expect(call("ifnull", MISSING, 1)).toBe(MISSING);
  expect(call("ifnull", null, MISSING)).toBe(MISSING);
  expect(call("ifnull", null, null)).toBeNull();
});

test("ifmissing returns the first argument that is not MISSING, null included", () => {
  expect(call("ifmissing", null, 1)).toBeNull();
  expect(call("ifmissing", MISSING, MISSING, 3)).toBe(3);
  expect(call("ifmissing", MISSING)).toBeNull();
});

test("coalesce and ifmissingornull return the first argument that is neither", () => {
  for (const name of ["coalesce", "ifmissingornull"]) {
    expect(call(name, MISSING, null, 1)).toBe(1);
    expect(call(name, false, true)).toBe(false);
    expect(call(name, MISSING, MISSING)).toBeNull();
  }
});

test("nvl has a form with two and one with three arguments", () => {
  expect(call("nvl", null, 1)).toBe(1);
  expect(call("nvl", MISSING, 1)).toBe(1);
  expect(call("nvl", 2, 1)).toBe(2);
  expect(call("nvl", null, null)).toBeNull();
  expect(call("nvl", 0, 1, 2)).toBe(1);
  expect(call("nvl", null, 1, 2)).toBe(2);
  expect(call("nvl", MISSING, 1, 2)).toBe(2);
});

test("nullif and missingif compare by equality, 1 and 1.0 included", () => {
  expect(call("nullif", 1, 1)).toBeNull();
  expect(call("nullif", 1, new Float(1))).toBeNull();
  expect(call("nullif", 1, 2)).toBe(1);
  expect(call("nullif", "a", 1)).toBe("a");
  expect(call("missingif", 1, 1)).toBe(MISSING);
  expect(call("missingif", 1, 2)).toBe(1);
});

test("nullif and missingif need both sides", () => {
  expect(call("nullif", null, 1)).toBeNull();
  expect(call("nullif", 1, MISSING)).toBeNull();
  expect(call("missingif", null, 1)).toBe(MISSING);
  expect(call("missingif", 1, null)).toBe(MISSING);
});

test("decode returns the result after the first equal value, else the default, else null", () => {
  expect(call("decode", 1, 1, "a")).toBe("a");
  expect(call("decode", 2, 1, "a")).toBeNull();
  expect(call("decode", 2, 1, "a", "otherwise")).toBe("otherwise");
  expect(call("decode", 2, 1, "a", 2, "b", "c")).toBe("b");
  expect(call("decode", 3, 1, "a", 2, "b", "c")).toBe("c");
  expect(call("decode", "1", 1, "a", "d")).toBe("d");
  expect(call("decode", 1, new Float(1), "a", "d")).toBe("a");
});

test("decode matches null, but not MISSING", () => {
  expect(call("decode", null, null, "n", "d")).toBe("n");
  expect(call("decode", MISSING, MISSING, "m", "d")).toBe(MISSING);
  expect(call("decode", 1, MISSING, "m", "d")).toBe("d");
});

test("none of them catches a failure", () => {
  const failure = new Failure("failed");
  for (const name of ["ifnull", "ifmissing", "coalesce", "nvl", "nullif"]) {
    expect(call(name, failure, 1)).toBe(failure);
  }
});
