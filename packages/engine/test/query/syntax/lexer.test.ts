/**
 * The lexer: what is one token, and what its value is.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { Lexer, type Token } from "../../../src/query/syntax/lexer.ts";
import { Float } from "../../../src/query/value/datum.ts";

function tokensOf(text: string): Token[] {
  const lexer = new Lexer(text);
  const tokens: Token[] = [];
  for (;;) {
    const token = lexer.next();
    if (token.type === "end") return tokens;
    tokens.push(token);
    if (token.type === "invalid") return tokens;
  }
}

function only(text: string): Token {
  const [token, ...others] = tokensOf(text);
  expect(others).toEqual([]);
  if (token === undefined) throw new Error(`no token in ${text}`);
  return token;
}

function typesOf(text: string): string[] {
  return tokensOf(text).map(({ type }) => type);
}

test("a word is letters, digits and underscores, and keeps its letter case", () => {
  expect(only("sElect_9")).toMatchObject({ type: "word", word: "SELECT_9", text: "sElect_9" });
});

test("a name in backticks may contain anything; two backticks stand for one", () => {
  expect(only("`a``b c`")).toMatchObject({ type: "quoted", text: "a`b c", word: "" });
  expect(only("``")).toMatchObject({ type: "quoted", text: "" });
  expect(only("`\\`")).toMatchObject({ type: "quoted", text: "\\" });
});

test.each([
  ["0", 0],
  ["007", 7],
  ["0x1F", 31],
  ["0XffFFffFFffFFffFF", 18446744073709551615n],
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", 9007199254740992n],
  ["18446744073709551615", 18446744073709551615n],
  ["000000000000000000000000000000000000001", 1],
])("the integer %s is exact", (text, value) => {
  expect(only(text)).toMatchObject({ type: "number", number: value });
});

test.each([
  ["5.", new Float(5)],
  [".5", 0.5],
  ["1E3", new Float(1000)],
  ["1.5e+2", new Float(150)],
  ["5e-324", 5e-324],
  ["1e309", Number.POSITIVE_INFINITY],
  ["0.0", new Float(0)],
  ["18446744073709551616", 18446744073709551616],
  ["0x10000000000000000", 18446744073709551616],
  ["1e19", new Float(1e19)],
])("%s is a float", (text, value) => {
  expect(only(text)).toMatchObject({ type: "number", number: value });
});

test("a number of a hundred thousand digits is an ordinary float", () => {
  expect(only("9".repeat(100_000)).number).toBe(Number.POSITIVE_INFINITY);
  expect(only(`0x${"F".repeat(100_000)}`).number).toBe(Number.POSITIVE_INFINITY);
});

test("a keyword may follow a number without a blank, no other word may", () => {
  expect(typesOf("1AND")).toEqual(["number", "word"]);
  for (const text of ["1st", "0b11", "1e", "5.a", "0x1g"]) {
    expect(only(text).fault?.message).toContain("expected a number");
  }
  expect(only("0x").fault?.message).toBe("expected hexadecimal digits after 0x, found the end");
});

test.each([
  [`'it\\'s'`, "it's"],
  [`"it's"`, "it's"],
  [`'say "hi"'`, 'say "hi"'],
  [`'\\n\\t\\r\\b\\f\\\\\\/'`, "\n\t\r\b\f\\/"],
  [`'\\u0041\\ud83d\\ude00'`, "A😀"],
  [`'\\q\\0\\%'`, "q0%"],
  [`'two\nlines'`, "two\nlines"],
  [`E'a\\nb'`, "a\nb"],
  [`e"x"`, "x"],
  [`''`, ""],
])("the string %s has its escapes resolved", (text, value) => {
  expect(only(text)).toMatchObject({ type: "string", text: value });
});

test.each([
  ["'open", "expected ' after this string, found the end"],
  ["'open\\", "expected ' after this string, found the end"],
  ['"open', 'expected " after this string, found the end'],
  ["`open", "expected ` after this name, found the end"],
  ["/* open /* */", "expected */ after this comment, found the end"],
  ["'\\ud800'", "expected a string of whole characters, found half of a surrogate pair"],
])("%s is a token with an error", (text, message) => {
  expect(only(text).fault).toMatchObject({ code: "query.syntax", message, offset: 0 });
});

test("an escape without its digits has its own place", () => {
  expect(only("'ab\\u00zz'").fault).toMatchObject({
    message: 'expected four hexadecimal digits after \\u, found "\\u00zz"',
    offset: 3,
  });
});

test("comments count as blanks; blocks nest, line comments end with the line", () => {
  expect(typesOf("a /* x /* y */ z */ b -- c\n+ d--e")).toEqual(["word", "word", "+", "word"]);
});

test("directive comments are collected", () => {
  const lexer = new Lexer(`--+ {"a": 1}\n/*+ {"b": 2} */ x /* + no */ --+{"c":3}`);
  while (lexer.next().type !== "end");
  expect(lexer.directives).toEqual([`{"a": 1}`, `{"b": 2}`, `{"c":3}`]);
});

test("the longest possible operator is taken", () => {
  expect(typesOf("<=<>>===!==>->-||&&!=!<>")).toEqual(
    "<= <> >= == != => -> - || && != ! <>".split(" "),
  );
});

test("a character that starts no token is invalid, and ends the tokens", () => {
  for (const text of ["é", "@", "|", "&", "#", "\u200b", "😀"]) {
    expect(only(text)).toMatchObject({ type: "invalid", fault: undefined, end: text.length });
  }
});

test("lexing any text ends, and the tokens are in order", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      let end = 0;
      for (const token of tokensOf(text)) {
        expect(token.at).toBeGreaterThanOrEqual(end);
        expect(token.end).toBeGreaterThan(token.at);
        end = token.end;
      }
      expect(end).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: runs(1_000) },
  );
});
