/**
 * Links and headings of Markdown text: finds them with their places, so that a link can be replaced
 * and the rest of the text stays as it is.
 *
 * Code is no Markdown: links and headings in fences and code spans are not found. Uses nothing but
 * JavaScript.
 */

const FENCE = /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ *\2[`~]* *$|(?![\s\S]))/gm;
const CODE_SPAN = /(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[\s\S])*?(?<!`)\1(?!`)/g;
const INLINE_TARGET =
  /\]\(\s*<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/dg;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^\s>]+)>?/dgm;

/**
 * Links in the order of the text. `start` and `end` enclose the whole link, `targetStart` and
 * `targetEnd` its target. `text` is undefined for a definition, `[name]: target`.
 */
export function findLinks(markdown) {
  const visible = blankCode(markdown);
  const inline = [...visible.matchAll(INLINE_TARGET)].flatMap((found) => {
    const bracket = openingBracket(visible, found.index);
    if (bracket === undefined) return [];
    const isImage = visible[bracket - 1] === "!";
    return [
      {
        ...targetOf(found),
        text: markdown.slice(bracket + 1, found.index),
        isImage,
        start: isImage ? bracket - 1 : bracket,
        end: found.index + found[0].length,
      },
    ];
  });
  const definitions = [...visible.matchAll(DEFINITION)].map((found) => ({
    ...targetOf(found),
    text: undefined,
    isImage: false,
    start: found.index,
    end: found.index + found[0].length,
  }));
  return [...inline, ...definitions].sort((a, b) => a.start - b.start);
}

function targetOf(found) {
  const [targetStart, targetEnd] = found.indices[1];
  return { target: found[1], targetStart, targetEnd };
}

/** Place of the bracket that the one at `end` closes. */
function openingBracket(text, end) {
  let depth = 0;
  for (let at = end; at >= 0; at--) {
    if (text[at] === "]") depth++;
    else if (text[at] === "[" && --depth === 0) return at;
    else if (text.startsWith("\n\n", at)) return undefined;
  }
  return undefined;
}

/** Headings in the order of the text, with the anchors that they get on a page. */
export function findHeadings(markdown) {
  const visible = blankFences(markdown);
  const counts = new Map();
  return [...visible.matchAll(/^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$/gm)].map((found) => {
    const text = plainText(found[2]);
    return { level: found[1].length, text, anchor: countedAnchor(counts, anchorOf(text)) };
  });
}

/** Anchor of a heading as viewers of repositories make it, so that links work there too. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/** The second heading with an anchor has `-1` behind it, the third `-2`. */
function countedAnchor(counts, anchor) {
  let unique = anchor;
  for (let i = 1; counts.has(unique); i++) unique = `${anchor}-${i}`;
  counts.set(unique, true);
  return unique;
}

/** Text of inline Markdown without its marks. */
export function plainText(markdown) {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\*\*|`|(?<![\p{L}\p{N}])\*|\*(?![\p{L}\p{N}])/gu, "")
    .trim();
}

export function lineAt(text, offset) {
  return text.slice(0, offset).split("\n").length;
}

function blankCode(text) {
  return blankFences(text).replaceAll(CODE_SPAN, blank);
}

function blankFences(text) {
  return text.replaceAll(FENCE, blank);
}

/** Spaces instead of text, so that places stay. */
function blank(text) {
  return text.replaceAll(/[^\n]/g, " ");
}
