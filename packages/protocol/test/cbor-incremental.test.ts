/**
 * CBOR in turns: the same values and the same faults as at once, and no turn that is long.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteReader } from "../src/bytes.ts";
import { encodeCbor, readCbor } from "../src/cbor.ts";
import { COST_PER_STEP, readCborIncremental } from "../src/cbor-incremental.ts";
import { PeerError } from "../src/error.ts";
import { DEPTH_MAX, type Value } from "../src/value.ts";
import { failureOf } from "./support/failure.ts";
import { oneOf, runs, sized } from "./support/test-size.ts";
import { bytesOfHex, isIdentical, nested, values } from "./support/values.ts";

const MANY = 1_000_000_000;

function readerOf(bytes: Uint8Array): ByteReader {
  return new ByteReader(bytes, "cbor.malformed");
}

/** What was read, and in how many turns. */
function readTurns(
  bytes: Uint8Array,
  limits: { around?: number; things?: number; listLength?: number; fields?: number } = {},
): { value: Value; turns: number } {
  const reader = readerOf(bytes);
  const { around = 0, things = MANY, listLength = MANY, fields = MANY } = limits;
  const reading = readCborIncremental(reader, { around, things, listLength, fields });
  for (let turns = 1; ; turns++) {
    const { done, value } = reading.next();
    if (done !== true) continue;
    reader.end();
    return { value, turns };
  }
}

function readAtOnce(bytes: Uint8Array): Value {
  const reader = readerOf(bytes);
  const value = readCbor(reader);
  reader.end();
  return value;
}

/** The value, or the words of the fault. */
function resultOf(read: () => Value): { value: Value } | string {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof PeerError) return error.message;
    throw error;
  }
}

test("[V5] CBOR that is decoded in slices gives the same value", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(isIdentical(readTurns(encodeCbor(value)).value, value)).toBe(true);
    }),
    { numRuns: runs(2000) },
  );
});

/** Bytes that begin like CBOR more often than not. */
const heads = fc.constantFrom(
  ...bytesOfHex("0018203b40425f60617f80829fa0a1a2bfc0c2c3d9f4f6f7f8f9fbff1f5a"),
);
const hostile = fc
  .array(fc.oneof(heads, fc.nat(255)), { maxLength: 40 })
  .map((bytes) => Uint8Array.from(bytes));

test("[V5] any bytes give the same value, or the same error, in slices and at once", () => {
  fc.assert(
    fc.property(hostile, (bytes) => {
      const atOnce = resultOf(() => readAtOnce(bytes));
      const inTurns = resultOf(() => readTurns(bytes).value);
      if (typeof atOnce === "string") expect(inTurns).toBe(atOnce);
      else {
        expect(inTurns).not.toBeTypeOf("string");
        expect(isIdentical((inTurns as { value: Value }).value, atOnce.value)).toBe(true);
      }
    }),
    { numRuns: runs(20_000) },
  );
});

test("[V5] chunks, tags, undefined and nesting are decoded in slices as they are at once", () => {
  for (const hex of [
    "7f6161606262636164ff",
    "5f410140420203ff",
    "c249010000000000000000",
    "c248ffffffffffffffff",
    "d9d9f782c1f7bf6161f76162c101ff",
    "bf7f6161ff01ff",
  ]) {
    const bytes = bytesOfHex(hex);
    expect(resultOf(() => readTurns(bytes).value)).toEqual(resultOf(() => readAtOnce(bytes)));
  }
  expect(readTurns(encodeCbor(nested(DEPTH_MAX, 1))).value).toEqual(nested(DEPTH_MAX, 1));
});

/** A list of so many items, each of these bytes. */
function listOf(count: number, item: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(5 + count * item.length);
  bytes[0] = 0x9a;
  new DataView(bytes.buffer).setUint32(1, count);
  for (let i = 5; i < bytes.length; i++) bytes[i] = item[(i - 5) % item.length] ?? 0;
  return bytes;
}

test("[S64] many small items are decoded in many slices, whatever they are", () => {
  const count = 300_000;
  const items = [[0x07], [0x20], [0xf6], [0x60], [0x40], [0x80], [0xa0], [0xc1, 0x01]];
  for (const item of oneOf(4, items)) {
    const { value, turns } = readTurns(listOf(count, item));
    expect(value).toHaveLength(count);
    expect(turns).toBeGreaterThanOrEqual(count / COST_PER_STEP);
  }
  const chunks = new Uint8Array(count + 2).fill(0x60);
  chunks.set([0x7f]);
  chunks[count + 1] = 0xff;
  expect(readTurns(chunks)).toEqual({ value: "", turns: 9 });
});

test("[S64] long text is decoded in slices, wherever its characters would be split", () => {
  for (const characters of ["é", "aé", "€", "a€", "ab€", "😀", "a😀", "ab😀", "abc😀"]) {
    const text = characters.repeat(sized(100_000, 300_000));
    const { value } = readTurns(encodeCbor([text, { b: text }]));
    expect(isIdentical(value, [text, { b: text }])).toBe(true);
  }
  expect(readTurns(encodeCbor("é".repeat(2_000_000))).turns).toBe(3);
  const bytes = encodeCbor("é".repeat(100_000));
  bytes[bytes.length - 1] = 0x61;
  expect(failureOf(() => readTurns(bytes)).message).toContain("expected UTF-8 text");
  const short = encodeCbor("a".repeat(100_000)).slice(0, -1);
  expect(resultOf(() => readTurns(short).value)).toBe(resultOf(() => readAtOnce(short)));
});

test("[S61] a list or an object that is longer than a document may have is refused", () => {
  expect(readTurns(encodeCbor({ a: 1, b: 2 }), { fields: 2 }).value).toEqual({ a: 1, b: 2 });
  const { message } = failureOf(() => readTurns(encodeCbor({ a: 1, b: 2, c: 3 }), { fields: 2 }));
  expect(message).toContain("expected an object of at most 2 fields");
  expect(readTurns(listOf(100, [1]), { listLength: 100 }).value).toHaveLength(100);
  const failure = failureOf(() => readTurns(listOf(101, [1]), { listLength: 100 }));
  expect(failure.message).toContain("expected a list of at most 100 items");
});

test("[S61] more lists, objects and binary values than allowed are refused before they are created", () => {
  for (const item of [0x80, 0xa0, 0x40]) {
    expect(readTurns(listOf(99, [item]), { things: 100 }).value).toHaveLength(99);
    const failure = failureOf(() => readTurns(listOf(100, [item]), { things: 100 }));
    expect(failure.message).toContain("expected fewer lists, objects and binary values");
  }
});
