/**
 * Generated values, with what storages tend to lose among them, and a comparison that sees it.
 */

import {
  checkValue,
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
} from "@bigpeer/protocol";
import * as fc from "fast-check";
import { sized } from "../../../protocol/test/support/test-size.ts";

/** Names that mean something to JS, to JSON, to encoders, or to lmdb itself. */
const ODD_KEYS = [
  "",
  "__proto__",
  "__proto_",
  "constructor",
  "hasOwnProperty",
  "toJSON",
  "then",
  "length",
  "0",
  "007",
  "\x10binary-data\x02",
  "\ufeffmark",
  "\u2028",
  '"',
];

const ODD_NUMBERS = [
  0,
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e300,
  5e-324,
  0.1,
  63,
  64,
  127,
  128,
  -32,
  -33,
  -128,
  -129,
  -32_768,
  -32_769,
  2 ** 31,
  -(2 ** 31),
  -(2 ** 31) - 1,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53 - 1,
  1 - 2 ** 53,
  2 ** 64,
  -(2 ** 70),
];

const ODD_BIGINTS = [
  2n ** 53n,
  -(2n ** 53n),
  2n ** 63n - 1n,
  2n ** 63n,
  -(2n ** 63n),
  2n ** 64n - 1n,
];

const ODD_STRINGS = [
  "",
  "\0",
  "\x7f",
  "\x80",
  "\ufeff",
  `\ufeff${"x".repeat(100)}`,
  `x\ufeff${"y".repeat(100)}`,
  "é".repeat(33),
  "\u{1f600}",
  "\uffff",
  "a".repeat(31),
  "a".repeat(32),
  "a".repeat(63),
  "a".repeat(64),
  "a".repeat(255),
  "a".repeat(256),
  "ü".repeat(40_000),
  "a".repeat(70_000),
];

/** Each of these once, for the tests that must meet them all. */
export function oddValues(): Value[] {
  const keyed = ODD_KEYS.map((key) => objectOf([[key, { [key]: -0 }]]));
  const binaries = [0, 1, 255, 256, 65_535, 65_536].map((size) => new Uint8Array(size).fill(size));
  return [
    ...ODD_NUMBERS,
    ...ODD_BIGINTS,
    ...ODD_STRINGS,
    ...keyed,
    ...binaries,
    null,
    true,
    false,
    [],
    {},
    [[], {}, [null]],
    objectOf(ODD_KEYS.map((key, i) => [key, i])),
    Array.from({ length: 70_000 }, (_, i) => i),
    objectOf(Array.from({ length: sized(300, 70_000) }, (_, i) => [`key ${i}`, i])),
  ];
}

export function anyKey(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("a", "b", "name", "price", "tags") },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_KEYS) },
  );
}

export function anyValue(): fc.Arbitrary<Value> {
  const { value } = fc.letrec<{ value: Value; leaf: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { weight: 3, arbitrary: tie("leaf") },
      { weight: 1, arbitrary: fc.array(tie("value"), { maxLength: 6 }) },
      {
        weight: 2,
        arbitrary: fc
          .array(fc.tuple(anyKey(), tie("value")), { maxLength: 6 })
          .map((fields) => objectOf(fields)),
      },
    ),
    leaf: fc.oneof<fc.Arbitrary<Value>[]>(
      fc.constantFrom(null, true, false),
      fc.integer(),
      fc.maxSafeInteger(),
      // A whole number of 64 bits beyond 2^53 has another form: rule V2.
      fc.double().map((double) => checkValue(double, "a number")),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
      fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.string({ maxLength: 80 }),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => new Uint8Array(bytes)),
      fc.constantFrom<Value>(...ODD_NUMBERS, ...ODD_BIGINTS, ...ODD_STRINGS.slice(0, 9)),
    ),
  }));
  return value;
}

export function objectOf(fields: readonly (readonly [string, Value])[]): MutableObject {
  const object: MutableObject = {};
  for (const [key, value] of fields) setField(object, key, value);
  return object;
}

/** Where two values differ in anything: sign of zero, order of keys, class of binary. */
export function findDifference(a: unknown, b: unknown): string | undefined {
  if (Object.is(a, b)) return undefined;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return `: ${describe(a)} is not ${describe(b)}`;
  }
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return ": another class";
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    const isSame = a.length === b.length && a.every((byte, i) => byte === b[i]);
    return isSame ? undefined : ": other bytes";
  }
  const keys = Object.keys(a);
  const others = Object.keys(b);
  if (keys.length !== others.length || keys.some((key, i) => key !== others[i])) {
    return `: keys ${JSON.stringify(keys)} are not ${JSON.stringify(others)}`;
  }
  for (const key of keys) {
    const difference = findDifference(fieldOf(a, key), fieldOf(b, key));
    if (difference !== undefined) return `[${JSON.stringify(key)}]${difference}`;
  }
  return undefined;
}

/**
 * Where a part of a value, as a reader of some fields gets it, has other fields than the whole, or
 * lacks one that was asked for.
 */
export function findPartDifference(
  part: Value | undefined,
  whole: Value | undefined,
  fields: readonly string[],
): string | undefined {
  if (isArray(part) && isArray(whole) && part.length === whole.length) {
    const differences = part.map((element, i) => fieldsDifference(element, whole[i], fields));
    return differences.find((difference) => difference !== undefined);
  }
  return fieldsDifference(part, whole, fields);
}

function fieldsDifference(
  part: Value | undefined,
  whole: Value | undefined,
  fields: readonly string[],
): string | undefined {
  if (!isObject(part) || !isObject(whole)) return findDifference(part, whole);
  const given = Object.keys(part);
  const lacking = fields.find((name) => Object.hasOwn(whole, name) && !given.includes(name));
  if (lacking !== undefined) return `: no field ${JSON.stringify(lacking)}`;
  const same = Object.keys(whole).filter((name) => given.includes(name));
  return findDifference(part, objectOf(same.map((name) => [name, fieldOf(whole, name) as Value])));
}

function fieldOf(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}

function describe(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "object" && value !== null) return "an object";
  return `${typeof value} ${String(value).slice(0, 50)}`;
}
