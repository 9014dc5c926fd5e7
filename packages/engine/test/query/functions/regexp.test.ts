/**
 * regexp_like: flags, what fails, and that hard patterns are answered.
 */
import { expect, test } from "vitest";
import type { Platform } from "../../../src/platform.ts";
import { Failure, MISSING } from "../../../src/query/value/datum.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";
import { testPlatform } from "../../support/test-platform.ts";

function isFound(text: string, pattern: string, flags?: string): unknown {
  return flags === undefined
    ? call("regexp_like", text, pattern)
    : call("regexp_like", text, pattern, flags);
}

test("a pattern matches anywhere in the text", () => {
  expect(isFound("hello", "l+")).toBe(true);
  expect(isFound("hello", "^l")).toBe(false);
  expect(isFound("hello", "^h.*o$")).toBe(true);
  expect(isFound("123", "^\\d{3}$")).toBe(true);
  expect(isFound("", "")).toBe(true);
});

test("i ignores case and c does not; the later flag wins", () => {
  expect(isFound("Hello", "hello")).toBe(false);
  expect(isFound("Hello", "hello", "i")).toBe(true);
  expect(isFound("Hello", "hello", "ic")).toBe(false);
  expect(isFound("Hello", "hello", "ci")).toBe(true);
  expect(isFound("Hello", "hello", "")).toBe(false);
});

test("m makes ^ and $ mean lines, s lets the dot match a newline", () => {
  expect(isFound("a\nb", "^b$")).toBe(false);
  expect(isFound("a\nb", "^b$", "m")).toBe(true);
  expect(isFound("a\nb", "a.b")).toBe(false);
  expect(isFound("a\nb", "a.b", "s")).toBe(true);
  expect(isFound("A\nB", "^b", "im")).toBe(true);
});

test("x ignores blanks and comments, except escaped or quoted ones", () => {
  expect(isFound("ab", "a b", "x")).toBe(true);
  expect(isFound("ab", "a # first\n b # second", "x")).toBe(true);
  expect(isFound("a b", "a\\ b", "x")).toBe(true);
  expect(isFound("a#b", "a\\#b", "x")).toBe(true);
  expect(isFound("a b", "\\Qa b\\E", "x")).toBe(true);
  expect(isFound("ab", "[ a ][ b ]", "x")).toBe(true);
  expect(isFound(" ", "[ a ]", "x")).toBe(false);
  expect(reasonOf(call("regexp_like", "a", "a\\", "x"))).toContain("expected a valid pattern");
});

test("invalid patterns, flags, look-around and back-references fail", () => {
  for (const pattern of ["(", "[", "a**", "(a)\\1", "a(?=b)", "(?<!a)b", "\\", "(?x)a"]) {
    expect(reasonOf(call("regexp_like", "a", pattern)), pattern).toContain("a valid pattern");
  }
  expect(reasonOf(call("regexp_like", "a", "a".repeat(1e6)))).toContain("a valid pattern");
  for (const flags of ["q", "I", "i/", "iq", "i".repeat(100)]) {
    expect(reasonOf(call("regexp_like", "a", "a", flags)), flags).toContain("expected flags");
  }
});

test("null gives null, MISSING gives MISSING, a value that is not text fails", () => {
  expect(call("regexp_like", null, "a")).toBeNull();
  expect(call("regexp_like", "a", "a", null)).toBeNull();
  expect(call("regexp_like", "a", MISSING)).toBe(MISSING);
  for (const args of [
    [1, "1"],
    ["1", 1],
    ["1", "1", 1],
  ]) {
    expect(callFunction("regexp_like", args)).toBeInstanceOf(Failure);
  }
});

test("patterns that are slow in backtracking engines finish", () => {
  const text = "a".repeat(100_000);
  expect(isFound(text, "(a+)+$")).toBe(true);
  expect(isFound(`${text}!`, "(a+)+$")).toBe(false);
  expect(isFound(text, "(a|a)*b")).toBe(false);
  expect(isFound(text, "(a*)*(a*)*(a*)*[bc]")).toBe(false);
});

test("a pattern is compiled once, and the cache is small", () => {
  const platform = testPlatform();
  const made: string[] = [];
  const counting: Platform = {
    ...platform,
    pattern: (source, flags) => {
      made.push(source);
      return platform.pattern(source, flags);
    },
  };
  const run = { ...testRun(), platform: counting };
  for (let i = 0; i < 10; i++) {
    callFunction("regexp_like", ["a", "a"], run);
    callFunction("regexp_like", ["a", "("], run);
  }
  expect(made).toEqual(["a", "("]);
  for (let i = 0; i < 1000; i++) callFunction("regexp_like", ["a", `a${i}`], run);
  callFunction("regexp_like", ["a", "a"], run);
  expect(made.filter((source) => source === "a")).toHaveLength(2);
});

test("long texts count against the time limit of the statement", () => {
  const run = testRun({ timeMsMax: 10, msPerLook: 1 });
  const text = "a".repeat(100_000);
  expect(() => {
    for (let i = 0; i < 1000; i++) callFunction("regexp_like", [text, "b"], run);
  }).toThrow(expect.objectContaining({ code: "query.timeout" }));
});

function replaced(text: string, pattern: string, by: string, flags = ""): unknown {
  return call("regexp_replace", text, pattern, by, flags);
}

test("regexp_replace replaces every match, from left to right", () => {
  expect(replaced("a1b22c", "[0-9]+", "-")).toBe("a-b-c");
  expect(replaced("abc", "x", "-")).toBe("abc");
  expect(replaced("abc", "", "-")).toBe("-a-b-c-");
  expect(replaced("AbA", "a", "x", "i")).toBe("xbx");
  expect(call("regexp_replace", "aa", "a", "b")).toBe("bb");
});

test("a replacement may name groups of the pattern; other dollar signs are literal", () => {
  expect(replaced("Ada Lovelace", "(\\w+) (\\w+)", "$2, $1")).toBe("Lovelace, Ada");
  expect(replaced("ab", "b", "<$0>")).toBe("a<b>");
  expect(replaced("ab", "(x)?b", "[$1$7]")).toBe("a[]");
  expect(replaced("5", "5", "$$5 $x $")).toBe("$5 $x $");
});

test("regexp_replace expects text, a valid pattern and known flags", () => {
  expect(reasonOf(call("regexp_replace", 1, "a", "b"))).toContain("expected a text");
  expect(reasonOf(call("regexp_replace", "a", "a", 1))).toContain("expected a text");
  expect(reasonOf(call("regexp_replace", "a", "(", "b"))).toContain("expected a valid pattern");
  expect(reasonOf(call("regexp_replace", "a", "a", "b", "z"))).toContain("expected flags");
  expect(call("regexp_replace", null, "a", "b")).toBeNull();
  expect(call("regexp_replace", "a", MISSING, "b")).toBe(MISSING);
});

test("the memory of a regexp_replace result is counted before it is built", () => {
  const long = "a".repeat(100_000);
  const run = testRun({ bytesMax: 2 ** 22 });
  expect(() => callFunction("regexp_replace", [long, "a", "$0$0$0$0"], run)).toThrow("memory");
  expect(reasonOf(call("regexp_replace", "a".repeat(1000), "a", long))).toContain("at most");
});
