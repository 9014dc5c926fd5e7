/**
 * Lexer: splits the text of a statement or a filter into tokens, one at a time.
 *
 * An unreadable token (an unterminated string) is a token with the error in it. The parser throws
 * that error only when it reaches the token, so the first error of a text is the one reported.
 */

import { type Fault, syntaxFault } from "../fault.ts";
import type { Float } from "../value/datum.ts";
import { WHITE_SPACE } from "../value/white-space.ts";
import { NO_ALIAS } from "./keywords.ts";
import { decimalValue, hexValue } from "./number-literal.ts";

export type TokenType =
  | "word"
  | "quoted"
  | "string"
  | "number"
  | "invalid"
  | "end"
  | ("(" | ")" | "[" | "]" | "{" | "}" | "," | "." | ":" | ";" | "$" | "!" | "&&" | "->" | "=>")
  | ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=")
  | ("+" | "-" | "*" | "/" | "%" | "||");

export interface Token {
  readonly type: TokenType;
  /** Offsets of the first character and of the first one after the token. */
  readonly at: number;
  readonly end: number;
  /** A word in upper case, for keywords; empty for everything else. */
  readonly word: string;
  /** A word as written, or the content of a quoted name or a string. */
  readonly text: string;
  readonly number: number | bigint | Float;
  readonly fault: Fault | undefined;
}

const LETTER = 1;
const DIGIT = 2;
const BLANK = 4;

/** Class of each ASCII character. */
const CLASSES = new Uint8Array(128);
for (let code = 0; code < CLASSES.length; code++) {
  const character = String.fromCharCode(code);
  if (/[A-Za-z_]/.test(character)) CLASSES[code] = LETTER;
  else if (/[0-9]/.test(character)) CLASSES[code] = DIGIT;
  else if (/\s/.test(character)) CLASSES[code] = BLANK;
}

const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKTICK = 0x60;
const BACKSLASH = 0x5c;
const STAR = 0x2a;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;

export class Lexer {
  readonly #text: string;
  #at = 0;
  /** Text of each directive comment so far. */
  readonly directives: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  next(): Token {
    const comment = this.#skipBlanks();
    if (comment !== undefined) return comment;
    const text = this.#text;
    const at = this.#at;
    if (at >= text.length) return this.#plain("end", at);
    const code = text.charCodeAt(at);
    const kind = code < 128 ? CLASSES[code] : 0;
    if (kind === LETTER) return this.#word(at);
    if (kind === DIGIT || (code === DOT && this.#isDigit(at + 1))) return this.#number(at);
    if (code === QUOTE || code === DOUBLE_QUOTE) return this.#string(at, at);
    if (code === BACKTICK) return this.#quoted(at);
    return this.#symbol(at);
  }

  /** Skips blanks and comments. Returns an invalid token for an unterminated comment. */
  #skipBlanks(): Token | undefined {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code < 128 ? CLASSES[code] === BLANK : WHITE_SPACE.has(code)) {
        this.#at++;
      } else if (code === MINUS && text.charCodeAt(this.#at + 1) === MINUS) {
        this.#skipLine();
      } else if (code === SLASH && text.charCodeAt(this.#at + 1) === STAR) {
        const unended = this.#skipBlock();
        if (unended !== undefined) return unended;
      } else {
        return undefined;
      }
    }
  }

  #skipLine(): void {
    const start = this.#at + 2;
    const newline = this.#text.indexOf("\n", start);
    this.#at = newline < 0 ? this.#text.length : newline + 1;
    this.#keepDirective(start, this.#at);
  }

  /** Block comments nest. */
  #skipBlock(): Token | undefined {
    const text = this.#text;
    const start = this.#at;
    let level = 0;
    let at = start;
    do {
      const code = text.charCodeAt(at);
      if (at >= text.length) {
        return this.#invalid(start, syntaxFault("*/ after this comment", "the end", start));
      }
      if (code === SLASH && text.charCodeAt(at + 1) === STAR) {
        level++;
        at += 2;
      } else if (code === STAR && text.charCodeAt(at + 1) === SLASH) {
        level--;
        at += 2;
      } else {
        at++;
      }
    } while (level > 0);
    this.#at = at;
    this.#keepDirective(start + 2, at - 2);
    return undefined;
  }

  #keepDirective(from: number, to: number): void {
    if (this.#text.charCodeAt(from) !== PLUS) return;
    this.directives.push(this.#text.slice(from + 1, to).trim());
  }

  #word(at: number): Token {
    const end = this.#wordEnd(at);
    const text = this.#text.slice(at, end);
    if (text === "E" || text === "e") {
      const code = this.#text.charCodeAt(end);
      if (code === QUOTE || code === DOUBLE_QUOTE) return this.#string(at, end);
    }
    this.#at = end;
    return { type: "word", at, end, word: text.toUpperCase(), text, number: 0, fault: undefined };
  }

  #wordEnd(from: number): number {
    const text = this.#text;
    let end = from;
    for (;;) {
      const code = text.charCodeAt(end);
      // Past the end the code is NaN, which is in no class.
      if (!(code < 128) || ((CLASSES[code] ?? 0) & (LETTER | DIGIT)) === 0) return end;
      end++;
    }
  }

  #isDigit(at: number): boolean {
    const code = this.#text.charCodeAt(at);
    return code < 128 && CLASSES[code] === DIGIT;
  }

  #digitsEnd(from: number): number {
    let end = from;
    while (this.#isDigit(end)) end++;
    return end;
  }

  #number(at: number): Token {
    const text = this.#text;
    if (text[at] === "0" && (text[at + 1] === "x" || text[at + 1] === "X")) return this.#hex(at);
    let end = this.#digitsEnd(at);
    let isFloat = false;
    if (text.charCodeAt(end) === DOT) {
      isFloat = true;
      end = this.#digitsEnd(end + 1);
    }
    if (text[end] === "e" || text[end] === "E") {
      const sign = text[end + 1] === "+" || text[end + 1] === "-" ? 1 : 0;
      if (this.#isDigit(end + 1 + sign)) {
        isFloat = true;
        end = this.#digitsEnd(end + 1 + sign);
      }
    }
    return this.#numberToken(at, end, decimalValue(text.slice(at, end), isFloat));
  }

  #hex(at: number): Token {
    const text = this.#text;
    let end = at + 2;
    while (end < text.length && hexDigit(text.charCodeAt(end)) >= 0) end++;
    if (end > at + 2) return this.#numberToken(at, end, hexValue(text.slice(at, end)));
    return this.#invalid(at, syntaxFault("hexadecimal digits after 0x", this.#found(end), end));
  }

  /** Makes a number token. `1AND` is two tokens, but `1st` is an error. */
  #numberToken(at: number, end: number, number: Token["number"]): Token {
    const wordEnd = this.#wordEnd(end);
    if (wordEnd > end && !NO_ALIAS.has(this.#text.slice(end, wordEnd).toUpperCase())) {
      const found = `"${this.#text.slice(at, wordEnd)}"`;
      const expected = "a number, or a name in backticks";
      return this.#invalid(at, syntaxFault(expected, shorten(found), at));
    }
    this.#at = end;
    return { type: "number", at, end, word: "", text: "", number, fault: undefined };
  }

  /** Reads a string whose quote is at `open`; `at` is the start of its prefix, if any. */
  #string(at: number, open: number): Token {
    const source = this.#text;
    const quote = source.charCodeAt(open);
    let text = "";
    let from = open + 1;
    let end = from;
    for (;;) {
      const code = source.charCodeAt(end);
      if (code === quote) break;
      if (code === BACKSLASH && end + 1 < source.length) {
        const escape = readEscape(source, end);
        if (escape === undefined) return this.#invalid(at, badEscape(source, end));
        text += source.slice(from, end) + escape;
        end += source[end + 1] === "u" ? 6 : 2;
        from = end;
      } else if (end >= source.length) {
        const sign = String.fromCharCode(quote);
        return this.#invalid(at, syntaxFault(`${sign} after this string`, "the end", at));
      } else {
        end++;
      }
    }
    text += source.slice(from, end);
    end++;
    if (!text.isWellFormed()) {
      const found = "half of a surrogate pair";
      return this.#invalid(at, syntaxFault("a string of whole characters", found, at));
    }
    this.#at = end;
    return { type: "string", at, end, word: "", text, number: 0, fault: undefined };
  }

  /** Reads a name in backticks; two backticks stand for one. */
  #quoted(at: number): Token {
    const source = this.#text;
    let end = at + 1;
    let isDoubled = false;
    for (;;) {
      const close = source.indexOf("`", end);
      if (close < 0) {
        return this.#invalid(at, syntaxFault("` after this name", "the end", at));
      }
      end = close + 1;
      if (source.charCodeAt(end) !== BACKTICK) break;
      isDoubled = true;
      end++;
    }
    this.#at = end;
    // One slice: appending one character at a time takes ten times as long.
    const written = source.slice(at + 1, end - 1);
    const text = isDoubled ? written.replaceAll("``", "`") : written;
    return { type: "quoted", at, end, word: "", text, number: 0, fault: undefined };
  }

  #symbol(at: number): Token {
    const next = this.#text.charCodeAt(at + 1);
    const character = this.#text[at];
    switch (character) {
      case "(":
      case ")":
      case "[":
      case "]":
      case "{":
      case "}":
      case ",":
      case ".":
      case ":":
      case ";":
      case "$":
      case "+":
      case "*":
      case "/":
      case "%":
        return this.#plain(character, at);
      case "-":
        return this.#plain(next === GREATER ? "->" : "-", at);
      case "=":
        return this.#plain(next === EQUALS ? "==" : next === GREATER ? "=>" : "=", at);
      case "!":
        return this.#plain(next === EQUALS ? "!=" : "!", at);
      case "<":
        return this.#plain(next === EQUALS ? "<=" : next === GREATER ? "<>" : "<", at);
      case ">":
        return this.#plain(next === EQUALS ? ">=" : ">", at);
      case "|":
      case "&":
        if (this.#text[at + 1] === character) {
          return this.#plain(character === "|" ? "||" : "&&", at);
        }
        return this.#invalid(at, undefined);
      default:
        return this.#invalid(at, undefined);
    }
  }

  #plain(type: TokenType, at: number): Token {
    const end = type === "end" ? at : at + type.length;
    this.#at = end;
    return { type, at, end, word: "", text: "", number: 0, fault: undefined };
  }

  /** Makes an invalid token; without a fault it is a character that begins no token. */
  #invalid(at: number, fault: Fault | undefined): Token {
    const end = Math.min(
      this.#text.length,
      at + ((this.#text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1),
    );
    this.#at = this.#text.length;
    return { type: "invalid", at, end, word: "", text: "", number: 0, fault };
  }

  #found(at: number): string {
    return at < this.#text.length
      ? `"${String.fromCodePoint(this.#text.codePointAt(at) ?? 0)}"`
      : "the end";
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
};

/** Character of the escape at a backslash; an unknown escape is the character itself. */
function readEscape(source: string, at: number): string | undefined {
  const letter = source[at + 1] ?? "";
  if (letter !== "u") return ESCAPES[letter] ?? letter;
  let code = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigit(source.charCodeAt(i));
    if (digit < 0) return undefined;
    code = code * 16 + digit;
  }
  return String.fromCharCode(code);
}

function badEscape(source: string, at: number): Fault {
  const found = `"${shorten(source.slice(at, at + 6))}"`;
  return syntaxFault("four hexadecimal digits after \\u", found, at);
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x41 && code <= 0x46) return code - 0x37;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}

const SHORT_LENGTH = 24;

/** The beginning of a user's text, for a message. */
export function shorten(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  const isWhole = line.length === text.length && text.length <= SHORT_LENGTH;
  return isWhole ? text : `${line.slice(0, SHORT_LENGTH).toWellFormed()}…`;
}
