/**
 * Functions about types, and what a statement may know about itself.
 */

import { expect, test } from "vitest";
import { type Datum, Float, MISSING } from "../../../src/query/value/datum.ts";
import { call, reasonOf } from "../../support/function-call.ts";
import { START_MS } from "../../support/test-platform.ts";

const TYPES: readonly (readonly [Datum, string, string])[] = [
  [MISSING, "missing", "null"],
  [null, "null", "null"],
  [true, "boolean", "boolean"],
  [1, "integer", "number"],
  [2n ** 60n, "integer", "number"],
  [1.5, "float", "number"],
  [new Float(1), "float", "number"],
  ["a", "string", "string"],
  [new Uint8Array([1]), "binary", "binary"],
  [[], "array", "array"],
  [{}, "object", "object"],
];

test("type distinguishes integers from floats; json_type does not, and does not return MISSING", () => {
  for (const [datum, type, jsonType] of TYPES) {
    expect(call("type", datum)).toBe(type);
    expect(call("json_type", datum)).toBe(jsonType);
  }
});

test("is_string, is_number and is_boolean leave null and MISSING as they are", () => {
  for (const name of ["is_string", "is_number", "is_boolean"]) {
    for (const [datum, , jsonType] of TYPES.slice(2)) {
      expect(call(name, datum)).toBe(name === `is_${jsonType}`);
    }
    expect(call(name, null)).toBeNull();
    expect(call(name, MISSING)).toBe(MISSING);
  }
});

test("isnull, ismissing and ismissingornull always return a boolean", () => {
  for (const [datum] of TYPES) {
    expect(call("isnull", datum)).toBe(datum === null);
    expect(call("ismissing", datum)).toBe(datum === MISSING);
    expect(call("ismissingornull", datum)).toBe(datum === null || datum === MISSING);
  }
});

test("cast takes the type as text", () => {
  expect(call("cast", "42", "int")).toBe(42);
  expect(call("cast", "42", "INTEGER")).toBe(42);
  expect(call("cast", "x", "integer")).toBe(MISSING);
  expect(call("cast", null, "string")).toBeNull();
  expect(call("cast", 1, MISSING)).toBe(MISSING);
  expect(reasonOf(call("cast", 1, "varchar"))).toContain("expected the name of a type");
  expect(reasonOf(call("cast", 1, 2))).toContain("expected the name of a type, found an integer");
});

test("request_info returns the caller and the start time of the request", () => {
  expect(call("request_info")).toEqual({
    app_id: "app",
    request_id: "request",
    start_time: START_MS,
  });
});
