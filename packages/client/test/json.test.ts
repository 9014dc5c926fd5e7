/**
 * JSON of the client: integers of 64 bits survive, and what JSON cannot hold is refused.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { BigPeerError } from "../src/error.ts";
import { parse, stringify } from "../src/json.ts";

test.each([
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", 9007199254740993n],
  ["-9223372036854775808", -9223372036854775808n],
  ["18446744073709551615", 18446744073709551615n],
  ["0.12345678901234567890", Number("0.12345678901234567890")],
  ["1234567890123456789.5", Number("1234567890123456789.5")],
  ["1e20", 1e20],
  ['"9007199254740993"', "9007199254740993"],
  ['"a\\"9007199254740993\\\\"', 'a"9007199254740993\\'],
  ['{"9007199254740993":[9007199254740993]}', { "9007199254740993": [9007199254740993n] }],
])("%s is parsed without loss", (text, value) => {
  expect(parse(text)).toEqual(value);
});

test("values with integers of any size survive", () => {
  const leaf = fc.oneof(
    fc.string(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie("value")),
      fc.dictionary(fc.string(), tie("value"), { noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, (given) => {
      expect(parse(stringify(given))).toEqual(given);
    }),
  );
});

test("a long text is parsed", () => {
  const value = { text: 'x"\\'.repeat(1_000_000), number: 2n ** 60n };
  expect(parse(stringify(value))).toEqual(value);
});

const endless: Record<string, unknown> = {};
endless["self"] = endless;

test.each([
  [{ args: { photo: new Uint8Array(2) } }, "args.photo"],
  [{ args: { list: [1, Number.NaN] } }, "args.list[1]"],
  [{ args: { most: Number.POSITIVE_INFINITY } }, "args.most"],
  [{ args: { tags: new Set() } }, "args.tags"],
  [{ args: { buffer: new ArrayBuffer(1) } }, "args.buffer"],
])("%j is refused with its place", (value, at) => {
  const error = thrownBy(() => stringify(value));
  expect([error.code, error.at, error.status]).toEqual(["value.invalid", at, 0]);
});

test("a value that contains itself is refused", () => {
  expect(thrownBy(() => stringify(endless)).code).toBe("value.invalid");
});

test("dates and undefined are as in JSON", () => {
  const date = new Date(0);
  expect(stringify({ date, big: 1n, none: undefined })).toBe(
    '{"date":"1970-01-01T00:00:00.000Z","big":1}',
  );
});

function thrownBy(work: () => unknown): BigPeerError {
  try {
    work();
  } catch (error) {
    if (error instanceof BigPeerError) return error;
  }
  throw new Error("expected a BigPeerError");
}
