/**
 * How the reference of the SDK reads a doc comment.
 */
import { expect, test } from "vitest";
import { parseDocComment, printedLines } from "../site/sdk-reference/doc-comment.mjs";

test("a comment has a description, parameters, a result, errors and examples with their lines", () => {
  const comment = `/**
   * Opens it. It stays
   * open.
   *
   * A second paragraph.
   *
   * @param name - Name of
   * it.
   * @returns A thing.
   * @throws \`a.b\`: it is
   * closed.
   * @example
   * if (isOpen) {
   *   close();
   * }
   */`;
  expect(parseDocComment(comment, 10)).toEqual({
    description: "Opens it. It stays open.\n\nA second paragraph.",
    parameters: [{ name: "name", description: "Name of it." }],
    returns: "A thing.",
    errors: ["`a.b`: it is closed."],
    examples: [{ caption: "", code: "if (isOpen) {\n  close();\n}", line: 22 }],
    tags: ["param", "returns", "throws", "example"],
  });
});

test("a comment in one line is a description, and an empty one has none", () => {
  expect(parseDocComment("/** What it is. */", 1)).toMatchObject({
    description: "What it is.",
    tags: [],
  });
  expect(parseDocComment("/** */", 1).description).toBe("");
  expect(parseDocComment("/**\n * @param a\n */", 1)).toMatchObject({
    description: "",
    parameters: [{ name: "a", description: "" }],
  });
});

test("what an example prints stands in the comments after console.log", () => {
  const code = `console.log(1); // 1
const a = 2; // two
  console.log("b", a); // b 2
console.log(3);`;
  expect(printedLines(code)).toEqual(["1", "b 2"]);
});
