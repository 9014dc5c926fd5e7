import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isFullSize } from "../../../protocol/test/support/test-size.ts";
import { CHECK_SIZE, RecordCheck, xxh32 } from "../../src/lmdb/record-check.ts";

function hash(text: string, seed = 0): number {
  const bytes = new TextEncoder().encode(text);
  return xxh32(new DataView(bytes.buffer), 0, bytes.length, seed) >>> 0;
}

function withChecksum(value: Uint8Array, key: string): Uint8Array {
  const record = new Uint8Array(CHECK_SIZE + value.length);
  record.set(value, CHECK_SIZE);
  new RecordCheck(true).writeChecksum(record, 0, record.length, key);
  return record;
}

function start(record: Uint8Array, key: string, isStrict = true): number {
  return new RecordCheck(isStrict).valueStart(record, record.length, key);
}

// As the specification of xxHash and its own tests have them.
test.each<[string, number, number]>([
  ["", 0, 0x02cc5d05],
  ["", 0x9e3779b1, 0x36b78ae7],
  ["a", 0, 0x550d7456],
  ["abc", 0, 0x32d153ff],
  ["Nobody inspects the spammish repetition", 0, 0xe2293b2f],
])("XXH32 of %j with seed %d", (text, seed, expected) => {
  expect(hash(text, seed)).toBe(expected);
});

// What is in these bytes is on the disks of users.
test("[K70] a record is c1, the checksum over its key and value, and the value", () => {
  expect(Buffer.from(withChecksum(new Uint8Array([0xc3]), "d")).toString("hex")).toBe(
    "c181129c57c3",
  );
  const long = Uint8Array.from({ length: 40 }, (_, i) => i);
  expect(Buffer.from(withChecksum(long, "m\x00\xff").subarray(0, 5)).toString("hex")).toBe(
    "c1b907b8b0",
  );
});

test("[K70] a record is read back if key and bytes are those that were written", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (value, key) => {
      const record = withChecksum(value, key);
      expect(start(record, key)).toBe(CHECK_SIZE);
      expect(start(record, key, false)).toBe(CHECK_SIZE);
      expect(() => start(record, `${key}x`)).toThrow(/expected the record that was written/);
    }),
  );
});

test("[K70] every change of up to four consecutive bytes is found, also of the mark and the checksum", () => {
  const record = withChecksum(
    Uint8Array.from({ length: 45 }, (_, i) => 7 * i),
    "key",
  );
  for (const isStrict of [true, false]) {
    for (let at = 0; at < record.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = record.slice();
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        expect(() => start(damaged, "key", isStrict)).toThrow(/found other bytes/);
      }
    }
  }
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      (word, change) => {
        if (change.every((byte) => byte === 0)) return;
        const damaged = record.slice();
        for (const [i, byte] of change.entries()) {
          const at = CHECK_SIZE + 4 * (word - 1) + i;
          damaged[at] = (damaged[at] ?? 0) ^ byte;
        }
        expect(() => start(damaged, "key")).toThrow(/found other bytes/);
      },
    ),
  );
});

test("[K71] a record without a checksum starts with its value, until every record must have one", () => {
  const plain = new Uint8Array([0x82, 1, 2, 3, 4, 5]);
  expect(start(plain, "key", false)).toBe(0);
  expect(() => start(plain, "key", true)).toThrow(/found one without its checksum/);
  expect(start(new Uint8Array([0xc3]), "key", false)).toBe(0);
  expect(() => start(new Uint8Array([0xc1, 1]), "key", false)).toThrow(/without its checksum/);
});

test.runIf(isFullSize)(
  "[K70] the checksum of a large record is computed a megabyte at a time, with the same result",
  () => {
    for (const size of [3, 1024 * 1024 - 4, 1024 * 1024 + 13, 5 * 1024 * 1024 + 7]) {
      const value = Uint8Array.from({ length: size }, (_, i) => (i * 31) ^ (i >>> 8));
      const chunk = new Uint8Array(10 + CHECK_SIZE + size);
      chunk.set(value, 10 + CHECK_SIZE);
      const record = { chunk, start: 10, size: CHECK_SIZE + size };
      let pauses = 0;
      for (const _ of new RecordCheck(true).writeChecksumInSteps(record, "key")) pauses++;
      expect(Buffer.compare(chunk.subarray(10), withChecksum(value, "key"))).toBe(0);
      expect(pauses).toBeGreaterThanOrEqual(Math.floor(size / (1024 * 1024)));
    }
  },
);
