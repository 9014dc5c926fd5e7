/**
 * Filters: rows become a condition with arguments, and a text that means the same.
 */
import { expect, test } from "vitest";
import { openPeer } from "../../peer/src/index.ts";
import {
  conditionOf,
  conditionText,
  type FilterRow,
  faultOf,
  formatRows,
  type Operator,
  parseRows,
  type ValueType,
} from "../src/data/filter.ts";
import { parsePath, pathText, quoteName } from "../src/values/names.ts";

const APP = "5f4a3f26-8a6e-4d0f-9f0d-0f3a1c2b4d5e";

const DOCUMENTS = [
  { _id: "a", n: 1, text: "it's \\ a `test`", "odd name": "x", o: { k: 1 }, docs: 1 },
  { _id: "b", n: 2.5, text: "", flag: true, o: { k: 2 } },
  { _id: "c", n: null, text: "test", flag: false, big: 2n ** 53n + 1n, docs: { k: 2 }, "a:f0": 5 },
];

function row(field: string, operator: Operator, type: ValueType, value: string): FilterRow {
  return { field, operator, type, value };
}

const CASES: readonly (readonly [rows: readonly FilterRow[], ids: readonly string[]])[] = [
  [[], ["a", "b", "c"]],
  [[row("n", "=", "number", "1")], ["a"]],
  [[row("n", ">=", "number", "1")], ["a", "b"]],
  [[row("n", "null", "text", "")], ["c"]],
  [[row("flag", "missing", "text", "")], ["a"]],
  [[row("flag", "exists", "text", "")], ["b", "c"]],
  [[row("flag", "=", "boolean", "true")], ["b"]],
  [[row("text", "=", "text", "it's \\ a `test`")], ["a"]],
  [[row("text", "=", "text", "")], ["b"]],
  [[row("text", "contains", "text", "test")], ["a", "c"]],
  [[row("text", "starts", "text", "te")], ["c"]],
  [[row("n", "in", "number", "1, 2.5")], ["a", "b"]],
  [[row("_id", "in", "json", '["a","c"]')], ["a", "c"]],
  [[row("`odd name`", "=", "text", "x")], ["a"]],
  [[row("docs", "=", "number", "1")], ["a"]],
  [[row("docs.k", "=", "number", "2")], ["c"]],
  [[row("_id", "=", "text", "a"), row("`a:f0`", "missing", "text", "")], ["a"]],
  [[row("big", "=", "number", "9007199254740993")], ["c"]],
  [[row("big", "=", "number", "9007199254740992")], []],
  [[row("big", "in", "json", "[1, 9007199254740993]")], ["c"]],
  [[row("o.k", "!=", "number", "1")], ["b"]],
  [[row("o", "=", "json", '{"k":2}')], ["b"]],
  [[row("n", ">", "number", "0"), row("text", "!=", "text", "")], ["a"]],
];

test("rows find what they say, with arguments and as the text of a condition", async () => {
  const peer = await openPeer({ appId: APP, url: "http://127.0.0.1:9", memory: true, token: "t" });
  await peer.store.execute("INSERT INTO docs DOCUMENTS (:all)", { all: DOCUMENTS });
  for (const [rows, ids] of CASES) {
    const { text, args } = conditionOf("docs", rows);
    const where = text === "" ? "" : ` WHERE ${text}`;
    const found = await peer.store.execute(`SELECT _id FROM docs${where} ORDER BY _id`, {
      ...args,
    });
    expect(
      found.items.map(({ _id }) => _id),
      text,
    ).toEqual(ids);
    const written = conditionText("docs", rows);
    const other = written === "" ? "" : ` WHERE ${written}`;
    const again = await peer.store.execute(`SELECT _id FROM docs${other} ORDER BY _id`);
    expect(
      again.items.map(({ _id }) => _id),
      written,
    ).toEqual(ids);
  }
  await peer.close();
});

test("rows that are no filter have a fault, and are left out of the condition", () => {
  expect(faultOf(row("", "=", "text", "a"))).toBe("expected the name of a field");
  expect(faultOf(row("n", "=", "number", "x"))).toBe("expected a number");
  expect(faultOf(row("n", "in", "number", "1,x"))).toBe("expected a number");
  expect(faultOf(row("n", "=", "json", "{"))).toBe("expected JSON");
  expect(conditionOf("docs", [row("n", "=", "number", "x")])).toEqual({ text: "", args: {} });
});

test("rows survive the address, and what is no row is left out", () => {
  for (const [rows] of CASES) expect(parseRows(formatRows(rows))).toEqual(rows);
  expect(parseRows('[["a","?","text","b"],7,["a","=","text"]]')).toEqual([]);
  expect(parseRows("{")).toEqual([]);
});

test("a path is quoted where it must be, and read again", () => {
  const paths = [["a"], ["a", "b c"], ["select"], ["a`b", "ü"], ["1"], ["", "`"], ["a.b", "it's"]];
  for (const path of paths) expect(parsePath(pathText(path))).toEqual(path);
  expect(quoteName("orders")).toBe("orders");
  expect(quoteName("order")).toBe("`order`");
  for (const text of ["", "a.", ".a", "a..b", "a b", "`a"]) {
    expect(parsePath(text), text).toBeUndefined();
  }
});
