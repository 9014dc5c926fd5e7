import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import {
  decodeHeader,
  ENTRY_HEAD_SIZE,
  encodeHeader,
  entrySize,
  HEADER_SIZE,
  type SegmentHeader,
  scanSegment,
  seedOf,
  writeEntryHead,
} from "../../src/journal/segment-format.ts";

const HEADER: SegmentHeader = {
  journalId: Uint8Array.from({ length: 16 }, (_, i) => i),
  number: 3,
  first: 41,
};

/** A segment with these payloads, and zeros behind. */
function segmentOf(payloads: readonly Uint8Array[], header = HEADER): Buffer {
  const parts = [encodeHeader(header)];
  for (const [i, payload] of payloads.entries()) {
    const entry = Buffer.alloc(entrySize(payload.length));
    entry.set(payload, ENTRY_HEAD_SIZE);
    const seed = seedOf(header);
    writeEntryHead(entry, payload.length, { position: header.first + i, kind: "writes", seed });
    parts.push(entry);
  }
  return Buffer.concat([...parts, Buffer.alloc(64)]);
}

const anyPayloads = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 6 });

test("the bytes of a segment are those of format 3", () => {
  const bytes = segmentOf([Uint8Array.of(1, 2, 3)]);
  expect(bytes.subarray(0, -64).toString("hex")).toMatchInlineSnapshot(
    `"42504a31000102030405060708090a0b0c0d0e0f030000000000290000000000c4e2ec7d0000000042504a650300000029000000000001001fa4cb37491c1c190102030000000000"`,
  );
});

test("a segment gives back its header, and its entries with their positions", () => {
  fc.assert(
    fc.property(anyPayloads, (payloads) => {
      const bytes = segmentOf(payloads);
      expect(decodeHeader(bytes)).toEqual(HEADER);
      const { entries, laterEntry } = scanSegment(bytes, HEADER);
      expect(entries.map(({ payload }) => Uint8Array.from(payload))).toEqual(payloads);
      expect(entries.map(({ position }) => position)).toEqual(payloads.map((_, i) => 41 + i));
      expect(laterEntry).toBeUndefined();
    }),
    { numRuns: runs(200) },
  );
});

test("a changed byte in an entry is found, and so is a whole entry behind it", () => {
  fc.assert(
    fc.property(anyPayloads, fc.nat(), fc.integer({ min: 1, max: 255 }), (payloads, at, bits) => {
      const bytes = segmentOf(payloads);
      const { end } = scanSegment(bytes, HEADER);
      const place = HEADER_SIZE + (at % (end - HEADER_SIZE));
      bytes[place] = bytes.readUInt8(place) ^ bits;
      const scanned = scanSegment(bytes, HEADER);
      expect(scanned.end).toBeLessThanOrEqual(place);
      expect(scanned.entries.length).toBeLessThan(payloads.length);
      const isLast = scanned.entries.length === payloads.length - 1;
      expect(scanned.laterEntry === undefined).toBe(isLast);
    }),
    { numRuns: runs(500) },
  );
});

test("a changed byte in a header is found", () => {
  for (let at = 0; at < 36; at++) {
    const bytes = encodeHeader(HEADER);
    bytes[at] = bytes.readUInt8(at) ^ 1;
    expect(decodeHeader(bytes)).toBeUndefined();
  }
});

test("bytes that look like heads of entries are not followed", () => {
  // A document could hold these: each claims the rest of the file as its payload.
  const hostile = Buffer.alloc(8 * 1024 * 1024);
  for (let at = 0; at + 24 <= hostile.length; at += 24) {
    hostile.write("BPJe", at, "latin1");
    hostile.writeUInt32LE(hostile.length - at - 24, at + 4);
    hostile.writeUInt16LE(1, at + 14);
  }
  const bytes = Buffer.concat([segmentOf([Uint8Array.of(1)]), hostile]);
  // If it followed them it would read more than a terabyte, and this test would not end.
  const { entries, laterEntry } = scanSegment(bytes, HEADER);
  expect([entries.length, laterEntry]).toEqual([1, undefined]);
});

test("entries that an earlier use of the file left behind are none", () => {
  const old = segmentOf([Uint8Array.of(1), Uint8Array.of(2)]);
  for (const header of [
    { ...HEADER, number: 4 },
    { ...HEADER, first: 42 },
    { ...HEADER, journalId: new Uint8Array(16) },
  ]) {
    old.set(encodeHeader(header));
    expect(scanSegment(old, header)).toEqual({
      entries: [],
      end: HEADER_SIZE,
      laterEntry: undefined,
    });
  }
});
