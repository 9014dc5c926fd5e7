/**
 * ByteWriter and ByteReader: what goes in comes out, and a reader never reads past its end.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteReader, ByteWriter, encodeText } from "../src/bytes.ts";
import { PeerError } from "../src/error.ts";
import { failureOf } from "./support/failure.ts";
import { runs } from "./support/test-size.ts";
import { bytesOfHex, EDGE_TEXTS, hexOf, texts } from "./support/values.ts";

function writerWith(write: (writer: ByteWriter) => void): Uint8Array {
  const writer = new ByteWriter(1);
  write(writer);
  return writer.finish();
}

function readerOf(bytes: Uint8Array | string): ByteReader {
  return new ByteReader(typeof bytes === "string" ? bytesOfHex(bytes) : bytes, "state.malformed");
}

test("all written data is read back, from any capacity", () => {
  fc.assert(
    fc.property(
      fc.record({ capacity: fc.nat(9), small: fc.nat(255), word: fc.nat(0xffff), text: texts }),
      fc.record({ long: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), float: fc.double() }),
      fc.record({
        count: fc.maxSafeNat(),
        raw: fc.uint8Array({ maxLength: 99 }),
        single: fc.float(),
      }),
      ({ capacity, small, word, text }, { long, float }, { count, raw, single }) => {
        const writer = new ByteWriter(capacity);
        writer.byte(small);
        writer.uint16(word);
        writer.uint32(word * 65_536 + word);
        writer.uint64(long);
        writer.float64(float);
        writer.float32(single);
        writer.varint(count);
        writer.text(text);
        writer.raw(raw);
        const size = writer.size;
        const bytes = writer.finish();
        expect(bytes).toHaveLength(size);
        const reader = readerOf(bytes);
        expect(reader.peek()).toBe(small);
        expect(reader.byte()).toBe(small);
        expect(reader.uint16()).toBe(word);
        expect(reader.uint32()).toBe(word * 65_536 + word);
        expect(reader.uint64()).toBe(long);
        expect(reader.float64()).toBe(float);
        expect(reader.float32()).toBe(single);
        expect(reader.varint()).toBe(count);
        expect(reader.text()).toBe(text);
        expect(reader.raw(raw.length)).toEqual(raw);
        expect(reader.offset).toBe(bytes.length);
        reader.end();
      },
    ),
    { numRuns: runs(1000) },
  );
});

test("a varint is little-endian groups of seven bits, in its shortest form", () => {
  const cases: [number, string][] = [
    [0, "00"],
    [127, "7f"],
    [128, "8001"],
    [300, "ac02"],
    [16_383, "ff7f"],
    [2 ** 31, "8080808008"],
    [2 ** 32 + 5, "8580808010"],
    [Number.MAX_SAFE_INTEGER, "ffffffffffffff0f"],
  ];
  for (const [value, hex] of cases) {
    expect(hexOf(writerWith((writer) => writer.varint(value)))).toBe(hex);
    expect(readerOf(hex).varint()).toBe(value);
  }
});

test("a varint that is too long, too large or padded is refused", () => {
  for (const hex of [
    "8000",
    "808000",
    "ffffffffffffff10",
    "ffffffffffffff7f",
    "80".repeat(9),
    "80",
    "",
  ]) {
    expect(failureOf(() => readerOf(hex).varint()).code).toBe("state.malformed");
  }
});

test("text of any length is UTF-8, on the short path and on the long one", () => {
  for (const text of EDGE_TEXTS) {
    expect(hexOf(encodeText(text))).toBe(Buffer.from(text).toString("hex"));
    expect(readerOf(new Uint8Array(Buffer.from(text))).utf8(Buffer.byteLength(text))).toBe(text);
  }
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
      expect(hexOf(encodeText(text))).toBe(Buffer.from(text).toString("hex"));
    }),
  );
});

test("text that is not UTF-8 is refused, on the short path and on the long one", () => {
  const long = "61".repeat(60);
  for (const bad of ["ff", "c3", "c328", "eda080", "f4908080", "c080"]) {
    const size = bad.length / 2;
    expect(failureOf(() => readerOf(bad).utf8(size)).message).toContain("expected UTF-8 text");
    expect(failureOf(() => readerOf(long + bad).utf8(60 + size)).message).toContain("UTF-8");
  }
});

test("a reader never reads past its end and reports its position", () => {
  const reads: ((reader: ByteReader) => unknown)[] = [
    (reader) => reader.byte(),
    (reader) => reader.peek(),
    (reader) => reader.uint16(),
    (reader) => reader.uint32(),
    (reader) => reader.uint64(),
    (reader) => reader.float32(),
    (reader) => reader.float64(),
    (reader) => reader.varint(),
    (reader) => reader.raw(1),
    (reader) => reader.raw(2 ** 40),
    (reader) => reader.utf8(1),
    (reader) => reader.text(),
  ];
  for (const read of reads) {
    const reader = readerOf("01");
    reader.byte();
    const error = failureOf(() => read(reader));
    expect([error.code, error.at]).toEqual(["state.malformed", "byte 1"]);
  }
  expect(failureOf(() => readerOf("0102").end()).message).toContain("found 2 more bytes");
});

test("a reader consumes expected bytes only if all of them come next", () => {
  const reader = new ByteReader(new Uint8Array([9, 1, 2, 3]), "state.malformed", 1);
  expect(reader.isNext(new Uint8Array([1, 3]))).toBe(false);
  expect(reader.isNext(new Uint8Array([1, 2, 3, 4]))).toBe(false);
  expect([reader.isNext(new Uint8Array([1, 2])), reader.offset, reader.byte()]).toEqual([
    true,
    3,
    3,
  ]);
  expect(reader.isNext(new Uint8Array([1]))).toBe(false);
});

test("a reader of a window on a buffer stays within the window", () => {
  const window = bytesOfHex("ff 0102 ff").subarray(1, 3);
  const reader = readerOf(window);
  expect(reader.uint16()).toBe(0x0102);
  expect(failureOf(() => reader.byte())).toBeInstanceOf(PeerError);
});

test("raw bytes are a copy, also when the source is a Buffer", () => {
  const source = Buffer.from([1, 2, 3]);
  const raw = new ByteReader(source, "state.malformed").raw(3);
  source.fill(9);
  expect([...raw]).toEqual([1, 2, 3]);
  expect(Object.getPrototypeOf(raw)).toBe(Uint8Array.prototype);
});

test("the result of finish does not change with later writes, which start over", () => {
  const writer = new ByteWriter(8);
  writer.byte(1);
  const first = writer.finish();
  expect(writer.size).toBe(0);
  writer.byte(2);
  expect([...first]).toEqual([1]);
  expect([...writer.finish()]).toEqual([2]);
});

test("a reset writer has forgotten what was written", () => {
  const writer = new ByteWriter(8);
  writer.byte(1);
  writer.reset();
  writer.byte(2);
  expect([...writer.finish()]).toEqual([2]);
});
