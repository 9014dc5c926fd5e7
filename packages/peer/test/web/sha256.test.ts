/**
 * SHA-256 in JavaScript: the same digests as those of Node.
 */
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { Sha256Stream } from "../../src/web/contents/sha256-stream.ts";
import { sha256 } from "../../src/web/sha256.ts";

const expected = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const found = (bytes: Uint8Array): string => Buffer.from(sha256(bytes)).toString("hex");

test("the digest of every length around a block is that of Node", () => {
  for (let length = 0; length <= 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 7 + length) % 256);
    expect(found(bytes), `${length} bytes`).toBe(expected(bytes));
  }
});

test("the digest of any bytes is that of Node, also of a part of a buffer", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(10), (bytes, from) => {
      const part = bytes.subarray(Math.min(from, bytes.length));
      expect(found(part)).toBe(expected(part));
    }),
    { numRuns: runs(200) },
  );
});

test("the digest of a megabyte is that of Node", () => {
  const bytes = new Uint8Array(1 << 20).fill(0xa5);
  expect(found(bytes)).toBe(expected(bytes));
});

test("the digest of a message in parts is that of the whole, at each of its ends", () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 });
  fc.assert(
    fc.property(parts, fc.uint8Array({ maxLength: 100 }), (given, end) => {
      const hash = new Sha256Stream();
      const before: Uint8Array[] = [];
      for (const part of given) {
        hash.update(part);
        before.push(part);
        const whole = Buffer.concat([...before, end]);
        expect(Buffer.from(hash.digest(end)).toString("hex")).toBe(expected(whole));
      }
    }),
    { numRuns: runs(200) },
  );
});
