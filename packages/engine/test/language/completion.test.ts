/**
 * The place of a completion: its word, and what belongs there.
 */

import { expect, test } from "vitest";
import { completionPlace } from "../../src/language/completion.ts";

/** `|` is the place. */
function placeIn(marked: string): ReturnType<typeof completionPlace> {
  const [before = "", after = ""] = marked.split("|");
  return completionPlace(before + after, before);
}

test.each([
  ["SELECT * FROM ca|", "ca"],
  ["UPDATE |", ""],
  ["INSERT INTO a|", "a"],
  ["SELECT * FROM a JOIN b|", "b"],
])("a collection belongs behind its keyword: %s", (text, word) => {
  expect(placeIn(text)).toMatchObject({ word, wantsCollection: true, isInText: false });
});

test.each(["SEL|", "SELECT a FROM b WHERE c|", "SELECT `FROM` c|", "SELECT 'FROM' c|"])(
  "elsewhere an expression or a keyword does: %s",
  (text) => {
    expect(placeIn(text).wantsCollection).toBe(false);
  },
);

test.each([
  ["SELECT 'FROM a|", true],
  ["SELECT -- a|", true],
  ["SELECT /* a|", true],
  ["SELECT 'a' |", false],
  ["SELECT 1 -- a\n|", false],
])("nothing belongs in texts and comments: %j", (text, expected) => {
  expect(placeIn(text).isInText).toBe(expected);
});

test("collections have their alias, also those behind the place", () => {
  const text =
    "SELECT c.ma| FROM cars AS c JOIN owners o ON c.owner = o._id JOIN `my shops` WHERE a";
  expect(placeIn(text)).toMatchObject({
    word: "c.ma",
    collections: [
      { name: "cars", alias: "c" },
      { name: "owners", alias: "o" },
      { name: "my shops", alias: "my shops" },
    ],
  });
});
