/**
 * Texts of a page as slices of one string: they are those that the decoder reads.
 */

import { encodeText } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { sliceOfPage } from "../../../src/web/storage/page-text.ts";

const TEXTS = [
  "an ordinary text of more than forty characters, with the number ",
  "Ein Satz mit Umlauten wie ä, ö und ü, in dem mehr als vierzig Zeichen stehen, Nummer ",
  "中文文字也可以存储在文档里面，这里有超过四十个字节，编号 ",
];

/** Bytes of all kinds between texts, and the places of the texts. */
function pageOf(count: number): { bytes: Uint8Array; texts: [string, number, number][] } {
  const bytes: number[] = [];
  const texts: [string, number, number][] = [];
  for (let i = 0; i < count; i++) {
    bytes.push(0xa8, i & 0xff, 0x83, 0xff);
    const text = `${TEXTS[i % TEXTS.length]}${i}`;
    const start = bytes.length;
    bytes.push(...encodeText(text));
    texts.push([text, start, bytes.length]);
  }
  return { bytes: Uint8Array.from(bytes), texts };
}

test("texts that are read in a row are slices, where they are ASCII", () => {
  const { bytes, texts } = pageOf(60);
  const read = texts.map(([, start, end]) => sliceOfPage(bytes, start, end));
  const isPlain = texts.map(([text]) => /^[\0-\x7f]*$/.test(text));
  expect(read.filter((text) => text !== undefined).length).toBeGreaterThan(10);
  for (const [index, text] of read.entries()) {
    if (text === undefined) expect(index < 8 || !isPlain[index]).toBe(true);
    else expect(text).toBe(texts[index]?.[0]);
  }
});

test("texts of changing pages, and of large bytes, are left to the decoder", () => {
  const pages = [pageOf(60), pageOf(60)];
  for (let i = 0; i < 60; i++) {
    for (const { bytes, texts } of pages) {
      const [, start, end] = texts[i] ?? ["", 0, 0];
      expect(sliceOfPage(bytes, start, end)).toBeUndefined();
    }
  }
  const large = pageOf(8_000);
  expect(large.bytes.length).toBeGreaterThan(512 * 1024);
  for (const [, start, end] of large.texts) {
    expect(sliceOfPage(large.bytes, start, end)).toBeUndefined();
  }
});
