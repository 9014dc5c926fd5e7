/**
 * JSON without loss: integers of 64 bits and -0 survive, and a fault is one of the text itself.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseExact, stringifyExact } from "../src/exact-json.ts";

test.each([
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", 9007199254740993n],
  ["-9223372036854775808", -9223372036854775808n],
  ["18446744073709551615", 18446744073709551615n],
  ["-0", -0],
  ["0.12345678901234567890", Number("0.12345678901234567890")],
  ["1234567890123456789.5", Number("1234567890123456789.5")],
  ["12345678901234567890e2", Number("12345678901234567890e2")],
  ["1e20", 1e20],
  ['"9007199254740993"', "9007199254740993"],
  ['"a\\"9007199254740993\\\\"', 'a"9007199254740993\\'],
  ['{"9007199254740993":[9007199254740993]}', { "9007199254740993": [9007199254740993n] }],
])("%s is read without loss", (text, value) => {
  expect(parseExact(text)).toEqual(value);
});

test("values of any kind survive, with and without an indent", () => {
  const leaf = fc.oneof(
    fc.string(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    fc.integer(),
    fc.double({ min: -(2 ** 53), max: 2 ** 53, maxExcluded: true, minExcluded: true, noNaN: true }),
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
    fc.property(value, fc.constantFrom(undefined, 2), (given, indent) => {
      expect(parseExact(stringifyExact(given, indent))).toEqual(given);
    }),
  );
});

test("a long text is read", () => {
  const value = { text: 'x"\\'.repeat(1_000_000), number: 2n ** 60n };
  expect(parseExact(stringifyExact(value))).toEqual(value);
});

test.each([
  '{"n": 9007199254740993, "m": ]}',
  "[0009007199254740993]",
  "[+9007199254740993]",
  "[9007199254740993n]",
])("%s is refused as JSON.parse refuses it", (text) => {
  expect(messageOf(() => parseExact(text))).toBe(messageOf(() => JSON.parse(text)));
});

function messageOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("expected a SyntaxError");
}
