/**
 * NDJSON and CSV: read in pieces of any size, and CSV that is written is read as the same documents.
 */

import { stringifyExact } from "@bigpeer/client/exact-json";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { columnsOf, fieldsOf, formatColumns } from "../src/data/columns.ts";
import { CsvReader, csvHead, csvLine } from "../src/data/csv.ts";
import { NdjsonReader } from "../src/data/ndjson.ts";
import { sampleData } from "../src/data/sample-data.ts";

interface Reader {
  push(piece: string): readonly unknown[];
  end(): readonly unknown[];
}

function readInPieces(reader: Reader, text: string, size: number): unknown[] {
  const found: unknown[] = [];
  for (let at = 0; at < text.length; at += size)
    found.push(...reader.push(text.slice(at, at + size)));
  return [...found, ...reader.end()];
}

const anyValue = fc.oneof(
  fc.constant(undefined),
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
  fc.string({ unit: "grapheme" }).filter((text) => !/^[[{]/.test(text) && !text.includes("\uFEFF")),
  fc.constantFrom("", "a,b", 'say "x"', "two\r\nlines", "true", "12", " padded "),
  fc.array(fc.integer()),
  fc.dictionary(fc.string(), fc.string()).map((value) => ({ ...value })),
);

test("CSV that is written is read as the same documents, in pieces of any size", () => {
  const anyRow = fc.record({ _id: fc.string({ minLength: 1 }), a: anyValue, "b,c": anyValue });
  fc.assert(
    fc.property(fc.array(anyRow), fc.integer({ min: 1, max: 20 }), (rows, size) => {
      const names = ["_id", "a", "b,c"];
      fc.pre(rows.every(({ _id }) => !/^[[{\uFEFF]/.test(_id)));
      const text = [csvHead(names), ...rows.map((row) => csvLine(names, row))].join("\r\n");
      const expected = rows.map((row) => {
        return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
      });
      const found = readInPieces(new CsvReader(), `${text}\r\n`, size);
      expect(stringifyExact(found)).toBe(stringifyExact(expected));
    }),
  );
});

test("CSV of other programs is read: its line ends, its quotes and its mark of UTF-8", () => {
  const text = '\uFEFFname,age,tags\nAda,36,"[""x""]"\n"Grace, H.",,\n\n"",7,plain';
  expect(readInPieces(new CsvReader(), text, 4)).toEqual([
    { name: "Ada", age: 36, tags: ["x"] },
    { name: "Grace, H." },
    { name: "", age: 7, tags: "plain" },
  ]);
});

test("NDJSON is read line by line, and a fault names its line", () => {
  const text = '{"_id":1}\r\n\n{"_id":"ü"}';
  expect(readInPieces(new NdjsonReader(), text, 3)).toEqual([{ _id: 1 }, { _id: "ü" }]);
  expect(() => readInPieces(new NdjsonReader(), '{"_id":1}\n[1]\n', 100)).toThrow(
    "expected an object at line 2",
  );
  expect(() => readInPieces(new NdjsonReader(), "{}\n{}\n{", 100)).toThrow(
    "expected JSON at line 3",
  );
});

test("columns are those that were chosen, or the most frequent fields", () => {
  const rows = [
    { _id: 1, b: 1, a: 1 },
    { _id: 2, b: 2 },
    { _id: 3, c: 3 },
  ];
  expect(fieldsOf(rows)).toEqual(["b", "a", "c"]);
  expect(columnsOf(rows, undefined)).toEqual([["b"], ["a"], ["c"]]);
  const chosen = [["a", "x y"], ["c,d"]];
  expect(columnsOf(rows, formatColumns(chosen))).toEqual(chosen);
});

test("sample data is the same each time, with ids that differ", () => {
  expect(sampleData()).toEqual(sampleData());
  for (const { documents } of sampleData()) {
    expect(new Set(documents.map(({ _id }) => _id)).size).toBe(documents.length);
    expect(documents.length).toBeGreaterThan(9);
  }
});

test("a column may have the name of something that all objects have", () => {
  const names = ["constructor", "__proto__"];
  const row = Object.fromEntries([["__proto__", 1]]);
  expect(csvLine(names, row)).toBe(",1");
  expect(new CsvReader().push("constructor,__proto__\n,1\n")).toEqual([row]);
});
