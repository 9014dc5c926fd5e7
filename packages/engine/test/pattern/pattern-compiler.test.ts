/**
 * Patterns: what they find, what is refused, what is kept, and that size is known before compiling.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import {
  estimateSize,
  PATTERN_LIMITS,
  PatternCompiler,
} from "../../src/pattern/pattern-compiler.ts";

const compiler = new PatternCompiler();

/** Nobody counts the steps. */
function uncounted(): void {}

function isFound(source: string, text: string, flags = ""): boolean | undefined {
  return compiler.compile(source, flags)?.isFoundIn(text, uncounted);
}

test("a pattern matches anywhere, with the given flags", () => {
  expect(isFound("b", "abc")).toBe(true);
  expect(isFound("^b", "abc")).toBe(false);
  expect(isFound("B", "abc", "i")).toBe(true);
  expect(isFound("^b", "a\nb", "m")).toBe(true);
  expect(isFound("a.b", "a\nb", "s")).toBe(true);
  expect(isFound("^B.", "a\nb\n", "ims")).toBe(true);
  expect(isFound("^.$", "😀")).toBe(true);
});

test("syntax that RE2 does not support is invalid", () => {
  for (const source of ["(", "a(?=b)", "(?<=a)b", "(?<!a)b", "(a)\\1", "a**", "[z-a]", "\\"]) {
    expect(isFound(source, "ab"), source).toBeUndefined();
  }
});

test("patterns that are slow in backtracking engines finish", () => {
  const text = "a".repeat(100_000);
  expect(isFound("(a+)+$", text)).toBe(true);
  expect(isFound("(a+)+$", `${text}!`)).toBe(false);
  expect(isFound("(a*)*b", text)).toBe(false);
  expect(isFound("(\\w+\\s?)*[^\\w\\s]$", text)).toBe(false);
});

test("a pattern that is too long, or compiles to too much, is refused before it is compiled", () => {
  for (const source of [
    "a".repeat(PATTERN_LIMITS.lengthMax + 1),
    "(a{1000}){1000}",
    "((a{30}){30}){30}",
    "a{1000}".repeat(1000),
    "(a{0,1000}|b{0,1000})?".repeat(400),
    "\\pL".repeat(3000),
    `[${"\\pL".repeat(3000)}]`,
    "(".repeat(5000) + ")".repeat(5000),
  ]) {
    expect(isFound(source, "a"), source.slice(0, 40)).toBeUndefined();
  }
  for (const source of ["a{1000}", "(a|b){100}", "a".repeat(5000), "[a-z]{500}", "\\x{41}"]) {
    expect(isFound(source, ""), source.slice(0, 40)).toBe(false);
  }
});

test("the estimated size of a pattern is at least half of its actual size", () => {
  const anyPart = fc.constantFrom(
    ...Array.from("ab(())|*+?.^$"),
    "[a-z]",
    "[^b]",
    "\\d",
    "\\pL",
    "\\x{41}",
    "{3}",
    "{2,5}",
    "{0,9}",
    "{4,}",
    "(?:",
    ")",
  );
  fc.assert(
    fc.property(fc.array(anyPart, { maxLength: 20 }), (parts) => {
      const source = parts.join("");
      const size = sizeOf(source);
      // Every program has a few instructions of its own.
      if (size !== undefined) expect(2 * estimateSize(source) + 10).toBeGreaterThanOrEqual(size);
    }),
    { numRuns: runs(3000) },
  );
});

/** The compiled size, found by how long a text may be. */
function sizeOf(source: string): number | undefined {
  const workMax = 1_000_000;
  const patterns = new PatternCompiler({ ...PATTERN_LIMITS, workMax });
  const pattern = patterns.compile(source, "");
  if (pattern === undefined) return undefined;
  let low = 0;
  let high = workMax;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    try {
      pattern.isFoundIn("x".repeat(Math.floor(workMax / middle)), uncounted);
      high = middle;
    } catch {
      low = middle;
    }
  }
  return high;
}

test("a text that is too long for a large pattern stops the statement", () => {
  const pattern = compiler.compile("[ab]*a[ab]{900}[cd]", "");
  expect(pattern?.isFoundIn("x".repeat(1000), uncounted)).toBe(false);
  expect(() => pattern?.isFoundIn("x".repeat(5_000_000), uncounted)).toThrow(
    expect.objectContaining({ code: "query.too_large" }),
  );
});

test("few compiled patterns are cached, and evicted ones still work", () => {
  const patterns = new PatternCompiler({ ...PATTERN_LIMITS, keptMax: 3 });
  const made = Array.from({ length: 10 }, (_, i) => patterns.compile(`^${i}$`, ""));
  expect(patterns.keptCount).toBe(3);
  for (const [i, pattern] of made.entries()) {
    expect(pattern?.isFoundIn(String(i), uncounted)).toBe(true);
    expect(pattern?.isFoundIn("x", uncounted)).toBe(false);
  }
  expect(patterns.keptCount).toBe(3);
});

test("any text is a valid or an invalid pattern, and nothing else is thrown", () => {
  const anySource = fc.oneof(
    fc.string({ unit: "binary", maxLength: 20 }),
    fc
      .array(fc.constantFrom(...Array.from("ab()[]{}|*+?^$\\.,-:<>=!PpQEdwx019")), {
        maxLength: 15,
      })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(anySource, fc.string(), (source, text) => {
      expect([true, false, undefined]).toContain(isFound(source, text));
    }),
    { numRuns: runs(3000) },
  );
});

test("all matches are found from left to right, with the text of their groups", () => {
  const found = compiler.compile("(\\w)(\\d)?", "")?.matchesIn("a1 😀b", uncounted) ?? [];
  expect([...found]).toEqual([
    { start: 0, end: 2, groups: ["a1", "a", "1"] },
    { start: 5, end: 6, groups: ["b", "b", undefined] },
  ]);
});

test("matches that repeatedly scan the whole text are refused", () => {
  const limits = { ...PATTERN_LIMITS, workMax: 100_000 };
  const pattern = new PatternCompiler(limits).compile("a.*b|a", "");
  expect([...(pattern?.matchesIn("a".repeat(10), uncounted) ?? [])]).toHaveLength(10);
  expect(() => [...(pattern?.matchesIn("a".repeat(10_000), uncounted) ?? [])]).toThrow(
    "smaller pattern",
  );
  expect(() => [...(pattern?.matchesIn("a".repeat(100_000), uncounted) ?? [])]).toThrow(
    "smaller pattern",
  );
});
