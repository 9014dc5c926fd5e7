/**
 * SIMILAR TO: what its signs mean, what is not valid, and that everything else stands for itself.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { testPlatform } from "../support/test-platform.ts";

const platform = testPlatform();

/** Undefined when the pattern is not valid. */
function isSimilar(text: string, pattern: string, escape?: string): boolean | undefined {
  const flags = `~${escape?.codePointAt(0) ?? ""}`;
  return platform.pattern(pattern, flags)?.isFoundIn(text, () => {});
}

test.each([
  ["abc", "abc"],
  ["abc", "a%"],
  ["abc", "a_c"],
  ["a\nc", "a_c"],
  ["b", "a|b"],
  ["ac", "(a|b)c"],
  ["", "a*"],
  ["aaa", "a+"],
  ["ab", "ab?"],
  ["aaa", "a{3}"],
  ["aaa", "a{2,}"],
  ["aa", "a{1,2}"],
  ["a1", "a[0-9]"],
  ["ab", "a[^0-9]"],
  ["a-", "a[b-]"],
  ["é", "[[:alpha:]é]"],
  ["abab", "(ab)*"],
  ["xyz", "(%|_)*"],
  ["", ""],
  ["😀", "_"],
  ["a", "(|a)"],
])("%s is similar to %s", (text, pattern) => {
  expect(isSimilar(text, pattern)).toBe(true);
});

test.each([
  ["abc", "ab"],
  ["abc", "bc"],
  ["abc", "(b|c)%"],
  ["abc", "a.c"],
  ["aaa", "a{4}"],
  ["ab", "a[0-9]"],
  ["xa", "a|b"],
  ["ax", "b|a"],
  ["😀", "__"],
  ["a\n", "a"],
])("%s is not similar to %s", (text, pattern) => {
  expect(isSimilar(text, pattern)).toBe(false);
});

test("all other characters are literal", () => {
  for (const text of [".", "^", "$", "\\", "\\d", "a.b", "^a$", "#", " ", "a-b", "/", "&", "'"]) {
    expect(isSimilar(text, text), text).toBe(true);
  }
  expect(isSimilar("5", "\\d")).toBe(false);
});

test("in brackets pattern characters are literal", () => {
  for (const text of ["%", "_", ".", "(", "|", "*", "\\", "[", "^"]) {
    expect(isSimilar(text, `[a${text}]`), text).toBe(true);
    expect(isSimilar("x", `[a${text}]`), text).toBe(false);
  }
});

test("the character after the escape character is literal", () => {
  expect(isSimilar("a%", "a!%", "!")).toBe(true);
  expect(isSimilar("ab", "a!%", "!")).toBe(false);
  expect(isSimilar("(", "!(", "!")).toBe(true);
  expect(isSimilar("]", "[!]]", "!")).toBe(true);
  expect(isSimilar("]", "[\\]]", "\\")).toBe(true);
});

test.each([
  "(",
  ")",
  "a)(b",
  "[",
  "[]",
  "[^]",
  "]",
  "[a",
  "{2}",
  "a{",
  "a{}",
  "a{x}",
  "a{2",
  "a}",
  "a{2,1}",
  "a{2000}",
  "*a",
  "|*",
  "(*a)",
  "(?i)a",
  "(?:a)",
  "a**",
  "a*?",
  "a+{2}",
  "a??",
  "[z-a]",
  "[[:nothing:]]",
])("%s is not valid", (pattern) => {
  expect(isSimilar("a", pattern)).toBeUndefined();
});

test("an escape at the end of a pattern has no effect", () => {
  expect(isSimilar("a", "a!", "!")).toBe(true);
  expect(isSimilar("a", "[a!", "!")).toBeUndefined();
});

test("a pattern without special characters matches itself and nothing else", () => {
  const anyPlain = fc.string({ unit: "binary", maxLength: 8 }).filter((text) => {
    return !/[%_|()[\]{}+*?]/.test(text);
  });
  fc.assert(
    fc.property(anyPlain, anyPlain, (pattern, text) => {
      expect(isSimilar(pattern, pattern)).toBe(true);
      expect(isSimilar(text, pattern)).toBe(text === pattern);
    }),
  );
});

test("any pattern is valid or not, and matching never throws", () => {
  const anySigns = fc.array(fc.constantFrom(...Array.from("ab%_|()[]{}+*?^-:1,\\.")), {
    maxLength: 10,
  });
  fc.assert(
    fc.property(anySigns, (signs) => {
      expect([true, false, undefined]).toContain(isSimilar("ab", signs.join("")));
    }),
    { numRuns: runs(2000) },
  );
});
