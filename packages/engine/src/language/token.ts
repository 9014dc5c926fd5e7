/**
 * Tokens of a statement, as far as an editor needs them: for colours, for completion, and to find
 * the end of a statement. The parser has a lexer of its own; this one never refuses a text.
 */

export type TokenKind =
  | "space"
  | "comment"
  | "text"
  | "quoted"
  | "number"
  | "parameter"
  | "word"
  | "end"
  | "sign";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Index of its first character, and of the one behind it. */
  readonly at: number;
  readonly end: number;
  /** Whether a text, a quoted name or a comment is not closed yet. */
  readonly isOpen: boolean;
}

const PATTERN = new RegExp(
  [
    "(?<space>\\s+)",
    "(?<comment>--[^\\n]*|/\\*[^]*?(?:\\*/|$))",
    "(?<text>'(?:[^'\\\\]|\\\\[^]|'')*(?:'|$)|\"(?:[^\"\\\\]|\\\\[^]|\"\")*(?:\"|$))",
    "(?<quoted>`[^`]*(?:`|$))",
    "(?<number>\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?)",
    "(?<parameter>:[A-Za-z_]\\w*)",
    "(?<word>[\\p{L}_]\\w*)",
    "(?<end>;)",
    "(?<sign>[^])",
  ].join("|"),
  "gu",
);

export function* tokensOf(text: string): Generator<Token> {
  for (const found of text.matchAll(PATTERN)) {
    const [kind = "sign"] =
      Object.entries(found.groups ?? {}).find(([, part]) => part !== undefined) ?? [];
    const [part] = found;
    const at = found.index;
    yield {
      kind: kind as TokenKind,
      text: part,
      at,
      end: at + part.length,
      isOpen: isOpen(kind, part),
    };
  }
}

function isOpen(kind: string, text: string): boolean {
  const [first = ""] = text;
  if (kind === "comment") return first === "/" && (text.length < 4 || !text.endsWith("*/"));
  if (kind !== "text" && kind !== "quoted") return false;
  return text.length < 2 || !text.endsWith(first) || /[^\\](?:\\\\)*\\$/.test(text.slice(0, -1));
}
