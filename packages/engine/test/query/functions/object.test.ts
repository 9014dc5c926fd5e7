/**
 * Object functions.
 */

import { setField } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Float,
  MISSING,
  type MutableDatumObject,
  type PresentDatum,
} from "../../../src/query/value/datum.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";

const NO_OBJECTS = [[1], "a", 1, new Float(1), new Uint8Array([1])];

test("a value that is not an object fails, null gives null, MISSING gives MISSING", () => {
  for (const [name, ...rest] of [
    ["object_keys"],
    ["object_values"],
    ["object_length"],
    ["object_size"],
    ["object_content"],
    ["object_field", "a"],
    ["object_set", "a", 1],
    ["object_unset", "a"],
    ["object_rename", "a", "b"],
    ["object_concat", {}],
  ] as const) {
    expect(call(name, null, ...rest)).toBeNull();
    expect(call(name, MISSING, ...rest)).toBe(MISSING);
    for (const datum of NO_OBJECTS) {
      expect(reasonOf(call(name, datum, ...rest))).toContain("expected an object, found");
    }
  }
});

test("keys, values and contents come in the order of keys", () => {
  const object = { b: 1, a: null, 10: "x", "\u{1f600}": true, "\uffff": false };
  expect(call("object_keys", object)).toEqual(["10", "a", "b", "\uffff", "\u{1f600}"]);
  expect(call("object_values", object)).toEqual(["x", null, 1, false, true]);
  expect(call("object_length", object)).toBe(5);
  expect(call("object_content", { b: 1, a: 2 })).toEqual([{ a: 2 }, { b: 1 }]);
  expect(call("object_content", {})).toEqual([]);
  expect(call("object_content", { a: 1 }, { a: 2 })).toEqual([{ a: 1 }, { a: 2 }]);
  expect(reasonOf(call("object_content", { a: 1 }, "z"))).toBe("expected an object, found text");
});

test("object_size is approximately the bytes that the object holds", () => {
  expect(call("object_size", { a: 1 })).toBe(9);
  expect(call("object_size", {})).toBe(0);
  expect(call("object_size", { é: "日", b: [true, null, 1.5], c: new Uint8Array(4) })).toBe(21);
});

test("object_field reads an own field only, nothing inherited", () => {
  expect(call("object_field", { a: 1 }, "a")).toBe(1);
  expect(call("object_field", { a: { b: 2 } }, "a.b")).toBe(MISSING);
  expect(call("object_field", {}, "constructor")).toBe(MISSING);
  expect(call("object_field", {}, "__proto__")).toBe(MISSING);
  expect(call("object_field", { a: 1 }, null)).toBeNull();
  expect(reasonOf(call("object_field", { a: 1 }, 1))).toContain("expected text for the key");
});

describe("object_set", () => {
  test("adds a field; replaces one only if asked to", () => {
    expect(call("object_set", { a: 1 }, "b", 2)).toEqual({ a: 1, b: 2 });
    expect(call("object_set", { a: 1 }, "b", 2, false)).toEqual({ a: 1, b: 2 });
    expect(call("object_set", { a: 1 }, "a", 2, true)).toEqual({ a: 2 });
    expect(reasonOf(call("object_set", { a: 1 }, "a", 2))).toContain("expected a key");
    expect(call("object_set", { a: { b: 1 } }, "a.b", 2)).toEqual({ a: { b: 1 }, "a.b": 2 });
  });

  test("accepts null as the value, not as the key or the flag; MISSING removes the field", () => {
    expect(call("object_set", { a: 1 }, "b", null)).toEqual({ a: 1, b: null });
    expect(call("object_set", { a: 1 }, null, 2)).toBeNull();
    expect(reasonOf(call("object_set", { a: 1 }, "b", 2, null))).toContain("expected a boolean");
    expect(call("object_set", { a: 1 }, "a", MISSING, true)).toEqual({});
    expect(call("object_set", { a: 1 }, "b", MISSING)).toEqual({ a: 1 });
    expect(call("object_set", { a: 1 }, "b", 2, MISSING)).toBe(MISSING);
    expect(reasonOf(call("object_set", {}, 5, 2))).toContain("expected text for the key");
    expect(reasonOf(call("object_set", {}, "b", 2, 1))).toBe(
      "expected a boolean, found an integer",
    );
  });
});

test("object_unset removes a field; an absent one must be allowed", () => {
  expect(call("object_unset", { a: 1, b: 2 }, "a")).toEqual({ b: 2 });
  expect(reasonOf(call("object_unset", { a: 1 }, "z"))).toBe("expected a key of the object");
  expect(call("object_unset", { a: 1 }, "z", true)).toEqual({ a: 1 });
  expect(reasonOf(call("object_unset", { a: 1 }, "a", "x"))).toContain("expected a boolean");
  expect(reasonOf(call("object_unset", { a: 1 }, 1))).toContain("expected text for the key");
});

test("object_rename moves a field, over another one if necessary", () => {
  expect(call("object_rename", { a: 1, b: 2 }, "a", "z")).toEqual({ b: 2, z: 1 });
  expect(call("object_rename", { a: 1, b: 2 }, "a", "b")).toEqual({ b: 1 });
  expect(call("object_rename", { a: 1 }, "a", "a")).toEqual({ a: 1 });
  expect(reasonOf(call("object_rename", { a: 1 }, "q", "z"))).toBe("expected a key of the object");
  expect(reasonOf(call("object_rename", { a: 1 }, "a", 5))).toContain("expected text for the key");
  expect(reasonOf(call("object_rename", { a: 1 }, 5, "a"))).toContain("expected text for the key");
});

test("object_concat merges one level deep, and the last field of a name wins", () => {
  expect(call("object_concat", { a: 1, b: 1 }, { b: 2 }, { c: 3 })).toEqual({ a: 1, b: 2, c: 3 });
  expect(call("object_concat", { a: { x: 1 } }, { a: { y: 2 } })).toEqual({ a: { y: 2 } });
  expect(call("object_concat", { a: 1 }, null)).toBeNull();
});

test("a field named __proto__ is an ordinary field", () => {
  const odd: MutableDatumObject = {};
  setField(odd, "__proto__", 1);
  const set = call("object_set", { a: 1 }, "__proto__", 2) as object;
  expect(Object.keys(set)).toEqual(["a", "__proto__"]);
  expect(call("object_field", odd, "__proto__")).toBe(1);
  expect(Object.keys(call("object_concat", {}, odd) as object)).toEqual(["__proto__"]);
  expect(Object.keys(call("object_rename", odd, "__proto__", "b") as object)).toEqual(["b"]);
});

test("an object split into entries can be rebuilt, and no argument is changed", () => {
  const anyObject = fc.dictionary(fc.string({ maxLength: 4 }), fc.integer());
  fc.assert(
    fc.property(anyObject, (given) => {
      const object = Object.freeze({ ...given });
      const parts = call("object_content", object) as PresentDatum[];
      expect(call("object_concat", {}, ...parts)).toEqual(object);
      expect(call("object_length", object)).toBe(parts.length);
      expect(call("object_unset", call("object_set", object, "new key", 1), "new key")).toEqual(
        object,
      );
    }),
  );
});

test("the memory of large objects is counted", () => {
  const large = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`key ${i}`, i]));
  for (const [name, ...args] of [
    ["object_concat", large, large],
    ["object_set", large, "x", 1],
    ["object_content", large],
    ["object_keys", large],
  ] as const) {
    const run = testRun({ bytesMax: 70_000 });
    expect(() => callFunction(name, args, run)).toThrow("70000 bytes");
  }
});
