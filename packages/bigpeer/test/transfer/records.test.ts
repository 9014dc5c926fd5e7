/**
 * The splitters of files: values of JSON and rows of CSV with their places, wherever the text is cut.
 */

import { expect, test } from "vitest";
import {
  checkColumnTypes,
  documentOfRow,
  readColumnTypes,
  readHeader,
} from "../../src/transfer/csv-document.ts";
import { csvRecords } from "../../src/transfer/csv-records.ts";
import { couchDocument, mongoValue } from "../../src/transfer/foreign-document.ts";
import { lineRecords, listRecords } from "../../src/transfer/json-records.ts";
import type { RecordGroups, SourceRecord } from "../../src/transfer/source-record.ts";

async function* pieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

type Split = (text: AsyncIterable<string>) => RecordGroups;

/** The records, which must be the same wherever the text is cut. */
async function all(split: Split, text: string): Promise<SourceRecord[]> {
  const runs: SourceRecord[][] = [];
  for (const size of [1, 2, 3, 7, 1000]) {
    const records: SourceRecord[] = [];
    for await (const group of split(pieces(text, size))) records.push(...group);
    runs.push(records);
  }
  const [first = []] = runs;
  for (const run of runs) expect(run).toEqual(first);
  return first;
}

async function failureOf(split: Split, text: string): Promise<string> {
  const messages = new Set<string>();
  for (const size of [1, 4, 1000]) {
    try {
      for await (const group of split(pieces(text, size))) {
        for (const { fault } of group) if (fault !== undefined) throw fault;
      }
      messages.add("no failure");
    } catch (error) {
      messages.add((error as Error).message);
    }
  }
  return [...messages].join(" or ");
}

test("lines are values with their line and column", async () => {
  expect(await all(lineRecords, '{"a":1}\n\n  {"b":2}\r\n{"c":3}')).toEqual([
    { text: '{"a":1}', line: 1, column: 1 },
    { text: '{"b":2}', line: 3, column: 3 },
    { text: '{"c":3}', line: 4, column: 1 },
  ]);
});

test("elements of a list have any layout, and brackets in texts do not count", async () => {
  const text = '\ufeff [\n {"a": "]}\\"", "b": [1, {}]},\n\n{"c":{"d":"\\\\"}}\n]\n';
  expect(await all(listRecords, text)).toEqual([
    { text: '{"a": "]}\\"", "b": [1, {}]}', line: 2, column: 2 },
    { text: '{"c":{"d":"\\\\"}}', line: 4, column: 1 },
  ]);
  expect(await all(listRecords, "[]")).toEqual([]);
});

test.each([
  ['[{"a":1}\n {"b":2}]', 'line 2, column 2: expected "," or "]", found "{"'],
  ['[{"a":1},\n]', 'line 2, column 1: expected a document, found "]"'],
  [
    '[{"a":1},\n{"b":',
    "line 2, column 1: expected the end of this value, found the end of the file",
  ],
  ['[{"a":1}]\nx', 'line 2, column 1: expected the end of the file, found "x"'],
  ["[\n1]", 'line 2, column 1: expected a document, found "1"'],
  ['[{"a":1}', 'line 1, column 8: expected "]", found the end of the file'],
  ["x", 'line 1, column 1: expected "[", found "x"'],
])("a broken list is refused with its place: %j", async (text, message) => {
  expect(await failureOf(listRecords, text)).toBe(message);
});

const csv: Split = (text) => csvRecords(text, ",");

test("cells of CSV may have separators, quotes and lines inside quotes", async () => {
  const records = await all(csv, 'a,b\r\n"x, ""y""",\n\n"two\nlines",1\n');
  expect(records.map(({ cells = [], line }) => [line, ...cells.map(({ text }) => text)])).toEqual([
    [1, "a", "b"],
    [2, 'x, "y"', ""],
    [4, "two\nlines", "1"],
  ]);
});

test.each([
  ['a\n"x', 'line 2, column 1: expected the end of this quoted cell (")'],
  ['a\n"x"y', "line 2, column 4: expected a separator behind the quoted cell"],
  ['a\nx"y', 'line 2, column 2: expected a quoted cell to begin with "'],
])("broken CSV is refused with its place: %j", async (text, message) => {
  expect(await failureOf(csv, text)).toBe(message);
});

test.each([
  ['a\n"x\nb\nc', ["a", "line 2, column 1", "b", "c"]],
  ['a\r\n"x\r\nb\r\n', ["a", "line 2, column 1", "b"]],
  ['a\n"x\nb\n"y\nc"z\nd', ["a", "line 4, column 2", "line 5, column 2", "d"]],
  ['"x""\ny\nb', ["line 1, column 1", "y", "b"]],
  ['a\nx"y",z\n\nb\n"', ["a", "line 2, column 2", "b", "line 5, column 1"]],
])("the line behind a broken row of CSV is the next row: %j", async (text, expected) => {
  const found = (await all(csv, text)).map(({ cells = [], fault }) => {
    return fault === undefined ? cells[0]?.text : `line ${fault.line}, column ${fault.column}`;
  });
  expect(found).toEqual(expected);
});

test("lines of CSV end with CR LF, LF or CR, and a cell keeps its letters", async () => {
  for (const end of ["\r\n", "\n", "\r"]) {
    const records = await all(csv, `a,b${end}1,\ufeff2${end}${end}"x${end}y",3${end}`);
    expect(records.map(({ cells = [], line }) => [line, ...cells.map(({ text }) => text)])).toEqual(
      [
        [1, "a", "b"],
        [2, "1", "\ufeff2"],
        [4, `x${end}y`, "3"],
      ],
    );
  }
});

test("types of columns are given once each, and for columns that are there", () => {
  for (const types of ["a", "a=", "=text", "a=txt", "a=text,a=number", "", "a=text,"]) {
    expect(() => readColumnTypes(types)).toThrow("--types: expected ");
  }
  expect(readColumnTypes("x=y=text")).toEqual(new Map([["x=y", "text"]]));
  const types = readColumnTypes("zipp=text");
  expect(() => checkColumnTypes(types, [["_id"], ["zip"]])).toThrow(
    '--types: expected columns of _id, zip, found "zipp"',
  );
});

async function documents(text: string, types = ""): Promise<unknown[]> {
  const [head, ...rows] = await all(csv, text);
  if (head === undefined) throw new Error("expected a header");
  const header = readHeader(head);
  const given = types === "" ? new Map() : readColumnTypes(types);
  return rows.map((row) => documentOfRow(row, header, given));
}

test("types of cells are inferred, empty cells are absent fields, dotted names are nested", async () => {
  const text =
    "_id,n,zip,ok,none,list,address.city,address.zip\n" +
    '1,-2.5e3,01234,true,null,"[1,2]",Rome,\n' +
    '"1",,"5","true",x,{},"=x",\'=1\n';
  expect(await documents(text)).toEqual([
    {
      _id: 1,
      n: -2500,
      zip: "01234",
      ok: true,
      none: null,
      list: [1, 2],
      address: { city: "Rome" },
    },
    { _id: "1", zip: "5", ok: "true", none: "x", list: {}, address: { city: "=x", zip: "=1" } },
  ]);
});

test("given types decide, and a wrong cell, row or header is refused", async () => {
  expect(await documents("a,b\n1,2\n", "a=text,b=number")).toEqual([{ a: "1", b: 2 }]);
  await expect(documents("a\nx\n", "a=number")).rejects.toThrow(
    'line 2, column 1: expected number in the column a, found "x"',
  );
  await expect(documents("a,b\n1\n")).rejects.toThrow("line 2, column 1: expected 2 cells");
  await expect(documents("a,a\n1,2\n")).rejects.toThrow('line 1, column 1: expected "a" once');
  await expect(documents("a,a.b\n1,2\n")).rejects.toThrow("expected an object at a");
});

test("a field that is named like one of the language is a field", async () => {
  const [document] = await documents("__proto__.x,constructor\n1,2\n");
  expect(Object.keys(document as object)).toEqual(["__proto__", "constructor"]);
  expect(({} as { x?: unknown }).x).toBeUndefined();
});

test("extended JSON of mongoexport becomes plain values", () => {
  const value = {
    _id: { $oid: "65a1b2c3d4e5f60718293a4b" },
    at: { $date: "2026-01-02T03:04:05Z" },
    old: { $date: { $numberLong: "0" } },
    big: { $numberLong: "9007199254740993" },
    small: { $numberInt: "7" },
    price: { $numberDecimal: "1.10" },
    data: { $binary: { base64: "AQI=", subType: "00" } },
    inner: [{ $numberDouble: "1.5" }, { $unknown: 1 }],
  };
  expect(mongoValue(value)).toEqual({
    _id: "65a1b2c3d4e5f60718293a4b",
    at: "2026-01-02T03:04:05Z",
    old: "1970-01-01T00:00:00.000Z",
    big: 9007199254740993n,
    small: 7,
    price: "1.10",
    data: new Uint8Array([1, 2]),
    inner: [1.5, { $unknown: 1 }],
  });
});

test("rows of CouchDB give their documents without revisions, designs and deleted ones", () => {
  const row = (doc: object) => couchDocument({ id: "x", key: "x", value: {}, doc: doc as never });
  expect(row({ _id: "a", _rev: "1-x", n: 1 })).toEqual({ _id: "a", n: 1 });
  expect(row({ _id: "_design/d", _rev: "1-x" })).toBeUndefined();
  expect(row({ _id: "a", _deleted: true })).toBeUndefined();
});
