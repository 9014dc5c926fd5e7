/**
 * JSON of the console: values of documents are shown and written as they are.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CsvReader, csvLine } from "../src/data/csv.ts";
import { parseTyped } from "../src/data/filter.ts";
import { NdjsonReader } from "../src/data/ndjson.ts";
import { parseExact, stringifyExact } from "../src/values/exact-json.ts";
import { kindOf, shortText } from "../src/values/show-value.ts";
import { addMissing, readArguments } from "../src/values/statement-text.ts";

test.each([
  ["9007199254740991", 9007199254740991],
  ["9007199254740993", 9007199254740993n],
  ["-9223372036854775808", -(2n ** 63n)],
  ["18446744073709551615", 2n ** 64n - 1n],
  ["-0", -0],
  ["1234567890123456789.5", Number("1234567890123456789.5")],
  ["12345678901234567890e2", Number("12345678901234567890e2")],
  ['"9007199254740993"', "9007199254740993"],
  ['"a\\"9007199254740993\\\\"', 'a"9007199254740993\\'],
  ['{"9007199254740993":[9007199254740993]}', { "9007199254740993": [9007199254740993n] }],
])("%s is read without loss", (text, value) => {
  expect(parseExact(text)).toEqual(value);
});

test("values of any kind survive, with and without an indent", () => {
  const leaf = fc.oneof(fc.string(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n }), fc.double());
  const finite = leaf.filter((one) => typeof one !== "number" || Number.isFinite(one));
  const small = finite.filter((one) => typeof one !== "number" || Math.abs(one) < 2 ** 53);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      small,
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

test("a fault has its place in the text itself", () => {
  const text = '{"n": 9007199254740993, "m": ]}';
  const message = (parse: (text: string) => unknown): string => {
    try {
      return String(parse(text));
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(message(parseExact)).toBe(message(JSON.parse));
});

test("whole numbers of 64 bits are shown, edited, imported and sent as they are", () => {
  const big = 2n ** 53n + 1n;
  expect([kindOf(big), shortText(big), shortText({ big })]).toEqual([
    "number",
    "9007199254740993",
    '{"big":9007199254740993}',
  ]);
  expect(parseTyped(" 9007199254740993 ", "number")).toBe(big);
  expect(parseTyped('{"a":[9007199254740993]}', "json")).toEqual({ a: [big] });
  expect(parseTyped("7.50", "number")).toBe(7.5);
  expect(new NdjsonReader().push('{"n":9007199254740993}\n')).toEqual([{ n: big }]);
  const line = csvLine(["n", "o"], { n: big, o: { n: big } });
  expect(new CsvReader().push(`n,o\r\n${line}\r\n\n`)).toEqual([{ n: big, o: { n: big } }]);
  expect(readArguments('{"n":9007199254740993}').args).toEqual({ n: big });
  expect(addMissing('{"n":9007199254740993}', ["m"])).toContain('"n": 9007199254740993,');
});
