/**
 * Whole numbers beyond 2^53 in the console: they are shown and written as they are.
 */
import { expect, test } from "vitest";
import { CsvReader, csvLine } from "../src/data/csv.ts";
import { parseTyped } from "../src/data/filter.ts";
import { NdjsonReader } from "../src/data/ndjson.ts";
import { kindOf, shortText } from "../src/values/show-value.ts";
import { addMissing, readArguments } from "../src/values/statement-text.ts";

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
