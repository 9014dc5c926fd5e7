/**
 * The checksum of records in IndexedDB.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import {
  checksumOfBytes,
  checksumOfKeys,
  checksumOfNumbers,
} from "../../../src/web/storage/checksum.ts";

test("every change of one byte, of the length or of the seed gives another checksum", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 255 }), (given, place, change) => {
      const at = place % given.length;
      const changed = given.with(at, (given[at] ?? 0) ^ change);
      const sum = checksumOfBytes(given, 7);
      expect(checksumOfBytes(changed, 7)).not.toBe(sum);
      expect(checksumOfBytes(given.subarray(1), 7)).not.toBe(sum);
      expect(checksumOfBytes(given, 8)).not.toBe(sum);
    }),
    { numRuns: runs(2000) },
  );
});

test("text of bytes has the checksum of its bytes, wherever these lie in a buffer", () => {
  const textUpTo = (max: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.nat({ max }).map((code) => String.fromCharCode(code)) });
  const check = (given: string, offset: number): void => {
    const bytes = new Uint8Array(offset + given.length).subarray(offset);
    for (let i = 0; i < given.length; i++) bytes[i] = given.charCodeAt(i);
    expect(checksumOfKeys(given, 3)).toBe(checksumOfBytes(bytes, 3));
  };
  const text = fc.oneof(textUpTo(127), textUpTo(255));
  fc.assert(fc.property(text, fc.nat({ max: 9 }), check), { numRuns: runs(1000) });
  for (const size of [256 * 1024, 256 * 1024 + 1]) check("k".repeat(size), 0);
});

test("the checksums of known records do not change", () => {
  const bytes = Uint8Array.from({ length: 11 }, (_, i) => i * 23);
  expect(checksumOfBytes(bytes, 1)).toBe(1_173_552_739);
  expect(checksumOfKeys("key 1", 1)).toBe(613_641_014);
  expect(checksumOfNumbers(Uint32Array.of(1, 2, 2 ** 32 - 1), 1)).toBe(2_014_910_132);
});
