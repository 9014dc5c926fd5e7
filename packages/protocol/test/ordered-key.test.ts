/**
 * Ordered keys: their order is the order of values, they end themselves, they read back.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PeerError } from "../src/error.ts";
import {
  byteString,
  bytesOf,
  invertedKey,
  orderedKey,
  readOrderedKey,
  textKey,
  valueOfOrderedKey,
} from "../src/ordered-key.ts";
import { checkValue, compareValues, DEPTH_MAX, isArray, type Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import {
  EDGE_NUMBERS,
  EDGE_TEXTS,
  isIdentical,
  nested,
  numbers,
  objectOf,
  texts,
  values,
} from "./support/values.ts";

const RUNS = { numRuns: runs(3000) };
const missingToo = fc.option(values, { nil: undefined, freq: 20 });

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

test("[V9] ordered keys sort like their values, across all types", () => {
  fc.assert(
    fc.property(missingToo, missingToo, (a, b) => {
      expect(compareKeys(orderedKey(a), orderedKey(b))).toBe(compareValues(a, b));
    }),
    RUNS,
  );
});

test("[V9] keys of numbers sort like numbers around every limit", () => {
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      expect(compareKeys(orderedKey(a), orderedKey(b))).toBe(compareValues(a, b));
    }),
    RUNS,
  );
  const whole: (number | bigint)[] = [...EDGE_NUMBERS, 2 ** 53, 2 ** 63, -(2 ** 63), 1e19];
  for (const a of whole) {
    for (const b of whole) {
      expect(compareKeys(orderedKey(a), orderedKey(b))).toBe(compareValues(a, b));
    }
  }
});

test("[V9] keys of text sort by code point, with NUL, surrogate pairs and U+FFFF", () => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      expect(compareKeys(orderedKey(a), orderedKey(b))).toBe(compareValues(a, b));
      expect(compareKeys(textKey(a), textKey(b))).toBe(compareValues(a, b));
    }),
    RUNS,
  );
});

test("[V9] NaN has one key above all numbers, whatever its bits", () => {
  const view = new DataView(new ArrayBuffer(8));
  const keys = [
    0x7ff8000000000000n,
    0xfff8000000000000n,
    0x7ff0000000000001n,
    0xffffffffffffffffn,
  ].map((bits) => {
    view.setBigUint64(0, bits);
    return orderedKey(view.getFloat64(0));
  });
  keys.push(orderedKey(quotient(0, 0)), orderedKey(quotient(0, -0)), orderedKey(Number.NaN));
  expect(new Set(keys).size).toBe(1);
  for (const number of EDGE_NUMBERS) {
    if (!Number.isNaN(number)) expect(orderedKey(number) < orderedKey(quotient(0, 0))).toBe(true);
  }
});

/** The machine divides, so the NaN has the bits that the machine makes, sign included. */
function quotient(a: number, b: number): number {
  return a / b;
}

test("[V9] keys are self-delimiting: sequences of keys sort like sequences of values", () => {
  fc.assert(
    fc.property(values, values, values, values, (a, b, c, d) => {
      const [x, y] = [orderedKey(a), orderedKey(b)];
      // Only an escaped zero goes on behind the end of a key, and no key begins like it.
      if (x !== y && y.startsWith(x)) expect(y[x.length]).toBe("\xff");
      const expected = compareValues(a, b) || compareValues(c, d);
      expect(compareKeys(x + orderedKey(c), y + orderedKey(d))).toBe(expected);
    }),
    RUNS,
  );
});

test("[V9] equal values have equal keys: -0 and 0, 1n and 1, keys in any order", () => {
  expect(orderedKey(-0)).toBe(orderedKey(0));
  expect(orderedKey(1n)).toBe(orderedKey(1));
  expect(orderedKey(2 ** 60)).toBe(orderedKey(2n ** 60n));
  expect(orderedKey({ b: 1, a: [2] })).toBe(orderedKey({ a: [2], b: 1 }));
});

test("[V9] a key is text of one byte per character, and decodes to its value", () => {
  fc.assert(
    fc.property(values, (value) => {
      const key = orderedKey(value);
      for (const character of key) expect(character.charCodeAt(0)).toBeLessThan(256);
      expect(isIdentical(valueOfOrderedKey(key), withoutNegativeZero(value))).toBe(true);
    }),
    RUNS,
  );
  expect(valueOfOrderedKey(orderedKey(undefined))).toBeUndefined();
});

/** A key tells no -0 from 0. */
function withoutNegativeZero(value: Value): Value {
  if (typeof value === "number") return value + 0;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (isArray(value)) return value.map(withoutNegativeZero);
  return objectOf(Object.entries(value).map(([name, part]) => [name, withoutNegativeZero(part)]));
}

test("[V9] concatenated keys decode one by one, each in its direction", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(missingToo, fc.boolean()), { maxLength: 4 }), (row) => {
      const keys = row.map(([value, isInverted]) =>
        isInverted ? invertedKey(orderedKey(value)) : orderedKey(value),
      );
      const whole = keys.join("");
      let offset = 0;
      for (const [i, [value, isInverted]] of row.entries()) {
        const { value: found, end } = readOrderedKey(
          isInverted ? invertedKey(whole) : whole,
          offset,
        );
        expect(compareValues(found, value)).toBe(0);
        expect(end - offset).toBe(keys[i]?.length);
        offset = end;
      }
      expect(offset).toBe(whole.length);
    }),
    RUNS,
  );
});

test("[V9] inverted keys sort from the largest value down, also with others after them", () => {
  fc.assert(
    fc.property(missingToo, missingToo, values, values, (a, b, c, d) => {
      const [x, y] = [invertedKey(orderedKey(a)), invertedKey(orderedKey(b))];
      const order = compareValues(b, a) || compareValues(c, d);
      expect(compareKeys(x + orderedKey(c), y + orderedKey(d))).toBe(order);
      expect(invertedKey(x)).toBe(orderedKey(a));
    }),
    RUNS,
  );
});

test("[V2] whole floats outside 64 bits decode as floats, inside as integers", () => {
  for (const float of [2 ** 64, -(2 ** 64), -1e19, -(2 ** 63) - 2048, 1e300, -1e300]) {
    expect(valueOfOrderedKey(orderedKey(float))).toBe(float);
  }
  expect(valueOfOrderedKey(orderedKey(1e19))).toBe(10n ** 19n);
});

test("the key of text is UTF-8 with zeros escaped and a zero at the end", () => {
  expect(textKey("")).toBe("\0");
  expect(textKey("ab")).toBe("ab\0");
  expect(textKey("a\0b")).toBe("a\0\xffb\0");
  expect(textKey("é")).toBe("\xc3\xa9\0");
  for (const text of EDGE_TEXTS) expect(valueOfOrderedKey(`\x40${textKey(text)}`)).toBe(text);
});

test("bytes and text of one byte per character are each other's inverse", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(bytesOf(byteString(bytes))).toEqual(bytes);
    }),
  );
});

test("text that is not a key fails as a corrupt store, never otherwise", () => {
  const tag = fc.constantFrom(..."\x10\x11\x20\x30\x40\x50\x60\x70\x80\x00\xff".split(""));
  const character = fc.oneof(
    tag,
    fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  );
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 24 }), (key) => {
      let value: Value | undefined;
      try {
        value = valueOfOrderedKey(key);
      } catch (error) {
        expect(error).toBeInstanceOf(PeerError);
        expect((error as PeerError).code).toBe("store.corrupt");
        return;
      }
      if (value !== undefined) checkValue(value, "x");
    }),
    { numRuns: runs(10_000) },
  );
});

test("a damaged key fails as a corrupt store, never otherwise", () => {
  fc.assert(
    fc.property(values, fc.nat(), fc.nat(255), (value, place, code) => {
      const key = orderedKey(value);
      const at = place % key.length;
      const damaged = key.slice(0, at) + String.fromCharCode(code) + key.slice(at + 1);
      for (const candidate of [damaged, key.slice(0, at), key + damaged.slice(at)]) {
        try {
          valueOfOrderedKey(candidate);
        } catch (error) {
          expect(error).toBeInstanceOf(PeerError);
        }
      }
    }),
    RUNS,
  );
});

test("text that is not UTF-8 and unbounded nesting fail as a corrupt store", () => {
  expect(failureOf(() => valueOfOrderedKey("\x40\xff\xfe\0")).code).toBe("store.corrupt");
  expect(failureOf(() => valueOfOrderedKey("\x60\x40\xc3\0\x70\0")).code).toBe("store.corrupt");
  expect(failureOf(() => valueOfOrderedKey("\x50".repeat(200_000))).code).toBe("store.corrupt");
  expect(failureOf(() => valueOfOrderedKey("\x60\x40a\0".repeat(200_000))).code).toBe(
    "store.corrupt",
  );
  const deepest = nested(DEPTH_MAX, 1);
  expect(valueOfOrderedKey(orderedKey(deepest))).toEqual(deepest);
});
