/**
 * Doc comments: splits the text of a comment into its description, its tags and its examples.
 *
 * The tags are `@param name - text`, `@returns text`, `@throws text` and `@example`, after which
 * all lines up to the next tag are code. In an example, a comment after `console.log(…);` is what
 * that line prints.
 */

const TAG = /^@(\w+) ?(.*)$/;

/** `comment` begins with two asterisks after the slash; `line` is where it begins in its file. */
export function parseDocComment(comment, line) {
  const blocks = [{ tag: "", lines: [], line }];
  for (const [place, text] of contentLines(comment).entries()) {
    const [, tag, rest] = TAG.exec(text) ?? [];
    if (tag === undefined) blocks.at(-1).lines.push(text);
    else blocks.push({ tag, lines: [rest], line: line + place });
  }
  const textsOf = (tag) => blocks.filter((block) => block.tag === tag).map(textOf);
  return {
    description: textsOf("")[0],
    parameters: textsOf("param").map(parameterOf),
    returns: textsOf("returns")[0] ?? "",
    errors: textsOf("throws"),
    examples: blocks.filter(({ tag }) => tag === "example").map(exampleOf),
    tags: blocks.slice(1).map(({ tag }) => tag),
  };
}

/** The lines that an example prints, as its comments say. */
export function printedLines(code) {
  return Array.from(code.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm), ([, text]) => text);
}

function contentLines(comment) {
  const inner = comment.replace(/^\/\*\*/, "").replace(/\s*\*\/$/, "");
  return inner.split("\n").map((text) => text.replace(/^\s*\*? ?/, "").trimEnd());
}

/** Lines of a paragraph are one line; an empty line stays between paragraphs. */
function textOf({ lines }) {
  const paragraphs = lines
    .join("\n")
    .trim()
    .split(/\n{2,}/);
  return paragraphs.map((text) => text.replaceAll("\n", " ").trim()).join("\n\n");
}

function parameterOf(text) {
  const [, name = text, description = ""] = /^(\w+) - ([^]*)$/.exec(text) ?? [];
  return { name, description };
}

/** The code, and the line of its file that it begins at. */
function exampleOf({ lines: [caption, ...lines], line }) {
  const first = lines.findIndex((text) => text !== "");
  return { caption, code: lines.join("\n").trim(), line: line + 1 + Math.max(first, 0) };
}
