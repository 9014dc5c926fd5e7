/**
 * Values, sizes and times as short texts, and the search of the palette.
 */

import { expect, test } from "vitest";
import { ownFirst } from "../src/values/names.ts";
import { searchItems } from "../src/values/search.ts";
import { kindOf, plural, shortText, sizeText } from "../src/values/show-value.ts";
import { agoText, durationText } from "../src/values/time-text.ts";

test("null, an absent value, an empty text and the text null look different", () => {
  expect([null, undefined, ""].map(shortText)).toEqual(["null", "—", "empty text"]);
  expect([null, undefined, "", "null"].map(kindOf)).toEqual(["null", "missing", "text", "text"]);
});

test("an attachment is told from an object by the shape of its token", () => {
  const token = { id: "x".repeat(64), len: 2000, metadata: { name: "a.png" } };
  expect(kindOf(token)).toBe("attachment");
  expect(shortText(token)).toBe("a.png · 2 kB");
  expect(kindOf({ id: "x", len: 1 })).toBe("object");
});

test("long values are cut to one line", () => {
  expect(shortText("a\n  b")).toBe("a b");
  expect(shortText("x".repeat(500))).toHaveLength(120);
  expect(shortText({ a: [1, "x".repeat(500)] })).toHaveLength(120);
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1536, "1.54 kB"],
  [999_950, "1 MB"],
  [20_000_000, "20 MB"],
  [75_500_000_000, "75.5 GB"],
])("%d bytes are %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

test.each([
  [0.25, "0.25 ms"],
  [12, "12 ms"],
  [59_000, "59 s"],
  [3_700_000, "1 h"],
])("%d ms are %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("times are relative to now", () => {
  expect(agoText(0, 1000)).toBe("now");
  expect(agoText(0, 300_000)).toBe("5 min ago");
  expect(agoText(7_200_000, 0)).toBe("in 2 h");
});

test("one is singular", () => {
  expect([plural(1, "document"), plural(1234, "document")]).toEqual([
    "1 document",
    "1,234 documents",
  ]);
});

test("a search finds all words, the beginning of a text first", () => {
  const names = ["old orders", "orders", "customers", "order lines"];
  const found = searchItems(names, (name) => name, "ord");
  expect(found).toEqual(["orders", "order lines", "old orders"]);
  expect(searchItems(names, (name) => name, "line ord")).toEqual(["order lines"]);
});

test("collections of the server come after those of the app", () => {
  const names = ["__small_peer_info", "cars", "wheels"].map((name) => ({ name }));
  expect(ownFirst(names).map(({ name }) => name)).toEqual(["cars", "wheels", "__small_peer_info"]);
});
