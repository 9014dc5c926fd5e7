/**
 * Help of the editor: colours, mistakes of several statements, and completion.
 */
import { expect, test } from "vitest";
import { colourOf, mistakesIn, suggest } from "../src/editor/statement-help.ts";

const names = {
  collections: async () => ["cars", "car parks"],
  fields: async (collection: string) =>
    collection === "cars" ? ["make", "owner", "owner.city", "owner.age"] : ["place"],
};

/** Labels of one kind; `|` is the cursor. */
async function labels(marked: string, kind: string, isAsked = false): Promise<readonly string[]> {
  const position = marked.indexOf("|");
  const text = marked.replace("|", "");
  const found = await suggest(text, position, names, isAsked);
  return (found?.options ?? []).filter((each) => each.kind === kind).map(({ label }) => label);
}

test("collections are offered behind FROM without a letter, in backticks where they need them", async () => {
  const found = await labels("SELECT * FROM |", "collection");
  expect(found.slice(0, 2)).toEqual(["cars", "`car parks`"]);
  expect(found).toContain("system:indexes");
});

test("fields of the collections of this statement are offered, also by an alias", async () => {
  expect(await labels("SELECT m| FROM cars", "field")).toEqual(["make", "owner"]);
  expect(await labels("SELECT c.owner.| FROM cars AS c", "field")).toEqual(["city", "age"]);
  expect(await labels("SELECT 1 FROM cars; SELECT p| FROM `car parks`", "field")).toEqual([
    "place",
  ]);
});

test("an option takes the place of the last step alone", async () => {
  const text = "SELECT owner.ci FROM cars";
  expect(await suggest(text, 15, names, false)).toMatchObject({ from: 13 });
});

test("keywords have the case of what is typed, and functions are offered", async () => {
  expect(await labels("sel|", "keyword")).toContain("select");
  expect(await labels("SEL|", "keyword")).toContain("SELECT");
  expect(await labels("SELECT coal|", "function")).toContain("coalesce");
});

test("nothing is offered in a text, nor without a letter unless it is asked for", async () => {
  expect(await suggest("SELECT 'fro", 11, names, true)).toBeUndefined();
  expect(await suggest("SELECT ", 7, names, false)).toBeUndefined();
  expect(await labels("SELECT |", "keyword", true)).toContain("FROM");
});

test("each of several statements has its mistake at its place", () => {
  const text = "SELECT a b c;\nSELECT a FROM b;\nDELETE FRM c";
  expect(mistakesIn(text).map(({ at, end }) => text.slice(at, end))).toEqual(["c", "FRM"]);
});

test("a name of a function has its colour only where it is called", () => {
  const text = "SELECT count(a), count FROM b WHERE c = 'x'";
  const found = [...colourOf(text)].map(({ from, to, className }) => {
    return `${className} ${text.slice(from, to)}`;
  });
  expect(found).toEqual([
    "keyword SELECT",
    "function count",
    "keyword FROM",
    "keyword WHERE",
    "text 'x'",
  ]);
});
