/**
 * Key paths: objects are read the same, whatever keys were read before them.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decodeCbor, encodeCbor } from "../src/cbor.ts";
import { KeyPaths, PATH_LENGTH_MAX } from "../src/key-path.ts";
import type { Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { runs, sized } from "./support/test-size.ts";
import { isIdentical, objectOf } from "./support/values.ts";

function again(value: Value): Value {
  return decodeCbor(encodeCbor(value));
}

/** The bytes of a map with these keys, of which each has its place as the value. */
function mapOf(keys: readonly string[]): Uint8Array {
  const fields = keys.flatMap((key, i) => [...encodeCbor(key), ...encodeCbor(i)]);
  return new Uint8Array([0xa0 | keys.length, ...fields]);
}

test("[V5] objects whose keys share a prefix and then differ are each decoded correctly", () => {
  const names = fc.constantFrom(
    "a",
    "b",
    "aa",
    "ä",
    "",
    "__proto__",
    "constructor",
    "1",
    "k".repeat(70),
  );
  const lists = fc.array(fc.uniqueArray(names, { maxLength: 6 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(lists, (objects) => {
      for (const keys of objects) {
        const value = objectOf(keys.map((key, i) => [key, i]));
        expect(isIdentical(decodeCbor(mapOf(keys)), value)).toBe(true);
      }
    }),
    { numRuns: runs(1000) },
  );
});

test("[V5] a repeated key is refused, also after known keys", () => {
  const known = ["make", "model", "year"];
  for (let i = 0; i < 3; i++) decodeCbor(mapOf(known));
  for (const key of known) {
    for (let i = 0; i < 3; i++) {
      const failure = failureOf(() => decodeCbor(mapOf([...known, key])));
      expect(failure.code).toBe("cbor.malformed");
      expect(failure.message).toContain(`expected different keys, found "${key}" twice`);
    }
  }
  expect(decodeCbor(mapOf([...known, "color"]))).toEqual({ make: 0, model: 1, year: 2, color: 3 });
});

test("[V5] a known key in a longer encoding than needed is decoded too", () => {
  decodeCbor(mapOf(["ab"]));
  expect(decodeCbor(new Uint8Array([0xa1, 0x78, 2, 0x61, 0x62, 5]))).toEqual({ ab: 5 });
  expect(decodeCbor(new Uint8Array([0xa1, 0x7f, 0x61, 0x61, 0x61, 0x62, 0xff, 5]))).toEqual({
    ab: 5,
  });
});

test("[V5] an undefined field is omitted, and its key still counts as present", () => {
  const undefinedField = [0x61, 0x61, 0xf7];
  expect(decodeCbor(new Uint8Array([0xa1, ...undefinedField]))).toEqual({});
  expect(decodeCbor(new Uint8Array([0xa1, ...undefinedField]))).toEqual({});
  const twice = new Uint8Array([0xa2, ...undefinedField, 0x61, 0x61, 1]);
  expect(failureOf(() => decodeCbor(twice)).code).toBe("cbor.malformed");
});

test("[V5] objects with ever new keys, many keys or long ones lose nothing", () => {
  for (let i = 0; i < sized(6_000, 30_000); i++) {
    const value = { [`key ${i}`]: i, same: true };
    expect(decodeCbor(encodeCbor(value))).toEqual(value);
  }
  const wide = objectOf(Array.from({ length: 3 * PATH_LENGTH_MAX }, (_, i) => [`field ${i}`, i]));
  for (let i = 0; i < 3; i++) expect(isIdentical(again(wide), wide)).toBe(true);
  const long = { ["x".repeat(300)]: 1, y: 2 };
  for (let i = 0; i < 3; i++) expect(again(long)).toEqual(long);
});

test("key paths are learned until that is useless, and again when it is useful", () => {
  const paths = new KeyPaths();
  let known = 0;
  for (let i = 0; i < 100_000; i++) {
    paths.learn([`key ${i}`]);
    if (paths.root.longer(`key ${i}`) !== undefined) known++;
  }
  expect(known).toBeLessThan(5000);
  expect(paths.root.longer("last")).toBeUndefined();
  for (let i = 0; i < 100; i++) paths.used();
  paths.learn(["last"]);
  expect(paths.root.longer("last")?.key).toBe("last");
});
