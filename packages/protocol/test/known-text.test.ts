/**
 * Known text: the same text as the host reads, new or remembered.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { knownText, SHORT_TEXT_SIZE_MAX, shortText } from "../src/known-text.ts";
import { runs } from "./support/test-size.ts";

const encoder = new TextEncoder();

function read(text: string, before = 0): string | undefined {
  const bytes = new Uint8Array([
    ...Array.from({ length: before }, () => 0x7a),
    ...encoder.encode(text),
  ]);
  return shortText(bytes, before, bytes.length - before);
}

test("short ASCII is decoded correctly, however often and wherever it occurs", () => {
  const text = fc
    .array(fc.integer({ min: 0, max: 127 }), { maxLength: SHORT_TEXT_SIZE_MAX })
    .map((units) => String.fromCharCode(...units));
  fc.assert(
    fc.property(text, fc.nat(9), (expected, before) => {
      for (let i = 0; i < 3; i++) expect(read(expected, before)).toBe(expected);
    }),
    { numRuns: runs(2000) },
  );
});

test("texts that share the bytes that are compared first are distinguished", () => {
  const texts = ["abcde", "axcde", "abcxe", "axcxe", "abcde\x00", "aacae"];
  for (let round = 0; round < 4; round++) {
    for (const text of texts) expect(read(text)).toBe(text);
    for (const text of texts.toReversed()) expect(read(text)).toBe(text);
  }
});

test("text with non-ASCII characters anywhere is left to the host", () => {
  for (const text of ["ä", "aä", "äa", "aaäaa", "😀", "ﬁ", `${"a".repeat(30)}ä`]) {
    for (let i = 0; i < 3; i++) expect(read(text)).toBeUndefined();
  }
});

test("no text is read as another one, whatever the caller's own reader returns", () => {
  const readUtf8 = (bytes: Uint8Array, start: number, size: number): string =>
    Buffer.from(bytes).toString("utf8", start, start + size);
  const again = (text: string): string => {
    const bytes = encoder.encode(text);
    return knownText(bytes, 0, bytes.length, readUtf8);
  };
  // The characters of the second text are the bytes of the first, and both have the same place.
  for (const text of ["ɶƗê", Buffer.from("ɶƗê").toString("latin1"), "ɶƗê", "ä", "ab"]) {
    for (let i = 0; i < 3; i++) expect(again(text)).toBe(text);
  }
});
