/**
 * The texts of the shell: colours and completion.
 */

import { expect, test } from "vitest";
import { complete } from "../../src/shell/completion.ts";
import { highlight } from "../../src/shell/highlight.ts";

test("keywords, texts, numbers, parameters and comments have colours, and the text stays", () => {
  const text = "SELECT a FROM c WHERE b = 'x' AND n > 1.5 AND m = :p -- end";
  const marked = highlight(text, (colour, part) => `<${colour}:${part}>`);
  expect(marked).toContain("<blue:SELECT> a <blue:FROM> c");
  expect(marked).toContain("<green:'x'>");
  expect(marked).toContain("<yellow:1.5>");
  expect(marked).toContain("<magenta::p>");
  expect(marked).toContain("<dim:-- end>");
  expect(highlight(text, (_, part) => part)).toBe(text);
});

const names = {
  collections: async () => ["cars", "carts", "gardens"],
  fields: async (collection: string) => (collection === "cars" ? ["color", "count"] : []),
};

test.each([
  [".mo", "", [".mode"]],
  ["SELECT * FROM car", "", ["cars", "carts"]],
  [".describe gar", "", ["gardens"]],
  [
    "SELECT co",
    "",
    [
      "coalesce(",
      "collection",
      "concat(",
      "conflict",
      "contains(",
      "context",
      "cos(",
      "cosh(",
      "count(",
      "counter",
    ],
  ],
  ["WHERE colo", "SELECT * FROM cars\n", ["color"]],
  ["SEL", "", ["SELECT"]],
  ["sel", "", ["select"]],
])("completion of %j", async (line, above, expected) => {
  const [found] = await complete(line, above, names, [".mode", ".help"]);
  expect(found.toSorted()).toEqual(expected);
});
