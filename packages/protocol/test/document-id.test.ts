/**
 * Document ids: what may be one, and the one canonical form.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { documentId, ID_SIZE_MAX, idOfKey } from "../src/document-id.ts";
import { orderedKey } from "../src/ordered-key.ts";
import { compareValues, type Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import { isIdentical, values } from "./support/values.ts";

test("[V8] any value except null and floats is an id", () => {
  const ids: Value[] = [
    "",
    "a",
    0,
    -7,
    2n ** 64n - 1n,
    true,
    false,
    new Uint8Array([0, 255]),
    [],
    {},
  ];
  for (const id of ids) expect(isIdentical(documentId(id).id, id)).toBe(true);
});

test("[V8] null and floats are refused with their place; null inside an array or object is allowed", () => {
  const cases: [unknown, string][] = [
    [null, "_id"],
    [1.5, "_id"],
    [Number.NaN, "_id"],
    [Number.POSITIVE_INFINITY, "_id"],
    [1e300, "_id"],
    [[1, 0.5], "_id[1]"],
    [{ a: [{ b: 0.5 }] }, "_id.a[0].b"],
  ];
  for (const [id, at] of cases) {
    const error = failureOf(() => documentId(id));
    expect([error.code, error.at]).toEqual(["id.invalid", at]);
  }
  expect(documentId([null]).id).toEqual([null]);
  expect(documentId({ a: null }).id).toEqual({ a: null });
});

test("[V8] data that is not a value is not an id", () => {
  for (const id of [undefined, "\ud800", 2n ** 64n, () => 1]) {
    expect(failureOf(() => documentId(id)).code).toBe("value.invalid");
  }
});

test("[V8] 1 and '1' are two ids, 1, 1.0 and 1n one, and so are 0 and -0", () => {
  expect(documentId(1).key).not.toBe(documentId("1").key);
  expect(documentId(1n)).toEqual(documentId(1.0));
  expect(Object.is(documentId(-0).id, 0)).toBe(true);
  expect(documentId(-0).key).toBe(documentId(0).key);
  expect(Object.is((documentId([-0]).id as Value[])[0], 0)).toBe(true);
  expect(documentId(2 ** 60)).toEqual(documentId(2n ** 60n));
});

test("[V8] key order in an id does not matter: the canonical form sorts it", () => {
  const a = documentId({ b: 1, a: { d: 1, c: 2 } });
  const b = documentId({ a: { c: 2, d: 1 }, b: 1 });
  expect(a).toEqual(b);
  expect(JSON.stringify(a.id)).toBe('{"a":{"c":2,"d":1},"b":1}');
});

test("[V8] an id has at most 1,024 bytes in its ordered form", () => {
  // One byte of tag, one of end.
  expect(documentId("x".repeat(ID_SIZE_MAX - 2)).key).toHaveLength(ID_SIZE_MAX);
  expect(failureOf(() => documentId("x".repeat(ID_SIZE_MAX - 1))).code).toBe("id.invalid");
  expect(documentId("é".repeat(ID_SIZE_MAX / 2 - 1)).key).toHaveLength(ID_SIZE_MAX);
  expect(failureOf(() => documentId("\0".repeat(ID_SIZE_MAX / 2))).code).toBe("id.invalid");
});

test("[V8] two ids are one document exactly if they are equal values", () => {
  let checked = 0;
  fc.assert(
    fc.property(values, values, (a, b) => {
      const [x, y] = [tryId(a), tryId(b)];
      if (x === undefined || y === undefined) return;
      checked++;
      expect(x.key === y.key).toBe(compareValues(a, b) === 0);
      expect(idOfKey(x.key)).toEqual(x.id);
      expect(orderedKey(x.id)).toBe(x.key);
      expect(documentId(x.id)).toEqual(x);
    }),
    { numRuns: runs(3000) },
  );
  expect(checked).toBeGreaterThan(runs(3000) / 6);
});

function tryId(value: Value): ReturnType<typeof documentId> | undefined {
  try {
    return documentId(value);
  } catch {
    return undefined;
  }
}

test("[V8] a binary id does not change with the bytes that it was made from", () => {
  const bytes = new Uint8Array([1, 2]);
  const { id } = documentId(bytes);
  bytes[0] = 9;
  expect(id).toEqual(new Uint8Array([1, 2]));
});

test.each([
  ["an object", (): Parts => Object.fromEntries(many((i) => [`k${i}`, i]))],
  ["an array", (): Parts => many((i) => i)],
  ["arrays in arrays", (): Parts => many(() => many(() => 0, 100))],
])("[V8] of %s with more parts than an id may have bytes, the rest is not read", (_, make) => {
  let looks = 0;
  const watched = (inner: Parts): Parts =>
    new Proxy(inner, {
      get: (target, name) => {
        looks++;
        const part: unknown = Reflect.get(target, name);
        return typeof part === "object" && part !== null ? watched(part) : part;
      },
    });
  const error = failureOf(() => documentId(watched(make())));
  expect(error.message).toMatch(
    /^expected an id of at most 1024 bytes, found more than 1024 parts/,
  );
  expect(looks).toBeLessThan(4 * ID_SIZE_MAX);
});

type Parts = object;

function many<T>(make: (i: number) => T, count = 50_000): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}
