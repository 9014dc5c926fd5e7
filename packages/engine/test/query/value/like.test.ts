/**
 * LIKE and ILIKE: what the signs mean, that a slow obvious matcher says the same, and that no text
 * and pattern take long.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isFullSize, runs } from "../../../../protocol/test/support/test-size.ts";
import { compileLike, likePrefix } from "../../../src/query/value/like.ts";

function isLike(text: string, pattern: string, escape?: string): boolean | undefined {
  const isCaseBlind = false;
  return compileLike(
    pattern,
    escape === undefined ? { isCaseBlind } : { isCaseBlind, escape },
  )?.(text);
}

function isIlike(text: string, pattern: string): boolean | undefined {
  return compileLike(pattern, { isCaseBlind: true })?.(text);
}

test("% matches any text, _ one character, and the whole text must match", () => {
  for (const pattern of ["abc", "a%", "%c", "%b%", "a_c", "%", "%%", "a%c", "___", "_%_", "abc%"]) {
    expect(isLike("abc", pattern), pattern).toBe(true);
  }
  for (const pattern of ["", "ab", "bc", "a_", "____", "b%", "%b", "%d%", "ABC", "a%b", "abcd%"]) {
    expect(isLike("abc", pattern), pattern).toBe(false);
  }
  expect(isLike("", "")).toBe(true);
  expect(isLike("", "%")).toBe(true);
  expect(isLike("", "_")).toBe(false);
});

test("the start and the end of a pattern do not share text", () => {
  expect(isLike("aba", "ab%ba")).toBe(false);
  expect(isLike("abba", "ab%ba")).toBe(true);
  expect(isLike("ab", "_%b%_")).toBe(false);
  expect(isLike("aaa", "aa%_a")).toBe(false);
});

test("regular expression operators and the backslash are literal", () => {
  for (const text of ["a.c", "a*c", "[a]", "^a$", "a\\b", "(a|b)+"]) {
    expect(isLike(text, text), text).toBe(true);
  }
  expect(isLike("abc", "a.c")).toBe(false);
  expect(isLike("a%c", "a\\%c")).toBe(false);
  expect(isLike("a\\xc", "a\\%c")).toBe(true);
});

test("a character is a code point, newlines included", () => {
  expect(isLike("😀", "_")).toBe(true);
  expect(isLike("😀", "__")).toBe(false);
  expect(isLike("a\nb", "a_b")).toBe(true);
  expect(isLike("x😀y", "%_y")).toBe(true);
  expect(isLike("😀😀", "%_")).toBe(true);
  expect(isLike("日本", "日_")).toBe(true);
});

test("the character after the escape character is literal", () => {
  expect(isLike("a%c", "a!%c", "!")).toBe(true);
  expect(isLike("abc", "a!%c", "!")).toBe(false);
  expect(isLike("a!c", "a!!c", "!")).toBe(true);
  expect(isLike("ab", "a!b", "!")).toBe(true);
  expect(isLike("%", "%%", "%")).toBe(true);
  expect(isLike("a_", "a😀_", "😀")).toBe(true);
});

test("a pattern that ends with its escape character matches nothing; an escape is one character", () => {
  for (const text of ["a!", "a", "", "!"]) expect(isLike(text, "a!", "!")).toBe(false);
  expect(isLike("a", "a", "")).toBeUndefined();
  expect(isLike("a", "a", "!!")).toBeUndefined();
});

test("ILIKE ignores case", () => {
  for (const [text, pattern] of [
    ["ABC", "abc"],
    ["abc", "A%"],
    ["ÀB", "àb"],
    ["ΣΊΣΥΦΟΣ", "σίσυφος"],
    ["\u212a", "k"],
    ["ẞ", "ß"],
    ["𐐀", "𐐨"],
  ] as const) {
    expect(isIlike(text, pattern), text).toBe(true);
    expect(isIlike(pattern.replaceAll("%", "bc"), text)).toBe(true);
  }
  expect(isIlike("straße", "STRASSE")).toBe(false);
  expect(isIlike("ß", "_")).toBe(true);
  expect(isIlike("İ", "_")).toBe(true);
  expect(isIlike("ı", "i")).toBe(false);
});

test("ILIKE folds a character as the host's regular expressions do", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0x1_ffff }), (code) => {
      const character = String.fromCodePoint(code);
      if (!character.isWellFormed()) return;
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        const isSame = new RegExp(`^\\u{${code.toString(16)}}$`, "iu").test(other);
        const pattern = /[%_]/.test(other) ? "" : other;
        if (pattern !== "") expect(isIlike(character, pattern), character).toBe(isSame);
      }
    }),
    { numRuns: runs(3000) },
  );
});

/** By a table: a row says which beginnings of the text fit so much of the pattern. */
function isLikeSlowly(text: string, pattern: string): boolean {
  const characters = Array.from(text);
  let fits = new Set([0]);
  for (const sign of pattern) {
    const next = new Set<number>();
    for (let length = 0; length <= characters.length; length++) {
      const isOne = sign === "_" || sign === characters[length - 1];
      const isAny = fits.has(length) || next.has(length - 1);
      if (sign === "%" ? isAny : isOne && fits.has(length - 1)) next.add(length);
    }
    fits = next;
  }
  return fits.has(characters.length);
}

test("a naive matcher agrees", () => {
  const anyText = fc.array(fc.constantFrom("a", "b", "😀"), { maxLength: 12 });
  const anyPattern = fc.array(fc.constantFrom("a", "b", "😀", "%", "%", "_"), { maxLength: 8 });
  fc.assert(
    fc.property(anyText, anyPattern, (characters, signs) => {
      const text = characters.join("");
      const pattern = signs.join("");
      expect(isLike(text, pattern)).toBe(isLikeSlowly(text, pattern));
      expect(isIlike(text.toUpperCase(), pattern)).toBe(isLikeSlowly(text, pattern));
    }),
    { numRuns: runs(5000) },
  );
});

test.runIf(isFullSize)("long pieces are found like short ones", () => {
  const anyWord = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(anyWord, fc.nat(3), fc.nat(300), (word, extra, cut) => {
      // Words that repeat themselves are the hard ones.
      const piece = word.join("").repeat(100);
      const text = piece.slice(cut) + piece.repeat(extra) + word.join("").slice(1);
      expect(isLike(text, `%${piece}%`)).toBe(text.includes(piece));
      expect(isLike(text, `%${piece}%b%`)).toBe(isLikeSlowly(text, `%${piece}%b%`));
    }),
    { numRuns: 60 },
  );
});

test("no pattern takes long on a long text", () => {
  const text = "a".repeat(200_000);
  expect(isLike(text, "%a".repeat(50_000))).toBe(true);
  expect(isLike(text, `${"%a".repeat(50_000)}b`)).toBe(false);
  expect(isLike(text, `%${"a".repeat(5000)}b${"a".repeat(5000)}%`)).toBe(false);
  expect(isLike(text, `%${"_a".repeat(100)}b%`)).toBe(false);
  expect(isLike(text, "_".repeat(200_000))).toBe(true);
  const varied = Array.from({ length: 50_000 }, (_, i) =>
    String.fromCharCode(0x4e00 + (i % 20_000)),
  );
  expect(isLike(varied.join(""), `_${varied.slice(1).join("")}%`)).toBe(true);
});

test("a piece with _ between two % has a maximum length", () => {
  expect(isLike("a".repeat(1000), `%${"_a".repeat(500)}%`)).toBe(true);
  expect(isLike("a".repeat(999), `%${"_a".repeat(500)}%`)).toBe(false);
  expect(isLike("a".repeat(2000), `%${"_a".repeat(501)}%`)).toBeUndefined();
  expect(isLike("a".repeat(2000), `${"_a".repeat(501)}%`)).toBe(true);
});

test("pieces with _ are found at the ends of machine words too", () => {
  fc.assert(
    fc.property(fc.integer({ min: 28, max: 70 }), fc.nat(70), fc.nat(70), (length, open, wrong) => {
      const piece = Array.from("ab".repeat(length))
        .slice(0, length)
        .with(open % length, "_")
        .join("");
      const text = Array.from("ab".repeat(length))
        .with(wrong % (2 * length), "c")
        .join("");
      expect(isLike(text, `%${piece}%`)).toBe(isLikeSlowly(text, `%${piece}%`));
    }),
  );
});

test("the prefix of a pattern is the text that every match starts with", () => {
  expect(likePrefix("abc%")).toBe("abc");
  expect(likePrefix("abc_")).toBe("abc");
  expect(likePrefix("abc%d")).toBe("abc");
  expect(likePrefix("abc")).toBe("abc");
  expect(likePrefix("a!%b%", "!")).toBe("a%b");
  for (const pattern of ["%abc", "_abc", ""]) expect(likePrefix(pattern)).toBeUndefined();
  expect(likePrefix("abc!", "!")).toBeUndefined();
  const anyPattern = fc.array(fc.constantFrom("a", "b", "%", "_"), { maxLength: 6 });
  fc.assert(
    fc.property(fc.string(), anyPattern, (text, signs) => {
      const pattern = signs.join("");
      if (isLike(text, pattern) === true) {
        expect(text.startsWith(likePrefix(pattern) ?? "")).toBe(true);
      }
    }),
  );
});
