/**
 * Lengths of text, against what the host says of it.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  byteLength,
  characterCount,
  isOneCharacter,
  offsetOfCharacter,
} from "../../../src/query/value/text-length.ts";

const anyText = fc.string({ unit: "binary" });

test("bytes and characters are counted as the host counts them", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(byteLength(text)).toBe(Buffer.byteLength(text));
      expect(characterCount(text)).toBe(Array.from(text).length);
    }),
  );
});

test("the position of a character is the end of those before it", () => {
  fc.assert(
    fc.property(anyText, fc.nat(20), (text, count) => {
      const before = Array.from(text).slice(0, count).join("");
      expect(offsetOfCharacter(text, count)).toBe(before.length);
    }),
  );
});

test("a character beyond the basic plane counts as one, and so does half of one", () => {
  for (const text of ["a", "%", "\u{1f600}", "\ud83d", "\udc00"]) {
    expect(isOneCharacter(text)).toBe(true);
  }
  for (const text of ["", "ab", "\u{1f600}a", "a\u{1f600}", "\udc00\ud83d"]) {
    expect(isOneCharacter(text)).toBe(false);
  }
});

test("bytes of long text are counted, wherever it is not ASCII", () => {
  const plain = "plain text\n".repeat(1_000);
  for (const odd of ["", "ä", "€", "😀", "\u0000\u007f"]) {
    for (const text of [plain + odd, odd + plain, plain + odd + plain]) {
      expect(byteLength(text)).toBe(Buffer.byteLength(text));
    }
  }
});
