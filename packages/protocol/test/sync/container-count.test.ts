/**
 * The bound on lists and objects of a message, which are small on the wire and large in memory.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeCbor } from "../../src/cbor.ts";
import { hasTooManyContainers } from "../../src/sync/container-count.ts";
import { decodePeerMessage, encodeMessage } from "../../src/sync/message-codec.ts";
import type { Value } from "../../src/value.ts";
import { failureOf } from "../support/failure.ts";

/** A list of so many items of one byte each. */
function listOfBytes(count: number, item: number): Uint8Array {
  const bytes = new Uint8Array(count + 5).fill(item);
  bytes[0] = 0x9a;
  new DataView(bytes.buffer).setUint32(1, count);
  return bytes;
}

test("[S61] millions of empty lists, objects or binary values are refused before they are created", () => {
  for (const empty of [0x80, 0xa0, 0x40]) {
    const bytes = listOfBytes(8_000_000, empty);
    expect(hasTooManyContainers(bytes)).toBe(true);
    expect(failureOf(() => decodePeerMessage(bytes)).message).toBe(
      "expected fewer lists, objects and binary values for so many bytes",
    );
  }
});

test("[S61] only lists, objects and binary values count, whatever the bytes of others are", () => {
  const empties = new Uint8Array(1_000_000).fill(0x80);
  const text = "\u0001".repeat(1_000_000);
  const inChunks = new Uint8Array([0x5f, 0x5a, 0, 0x0f, 0x42, 0x40, ...empties, 0xff]);
  expect(hasTooManyContainers(encodeCbor([empties, text]))).toBe(false);
  expect(hasTooManyContainers(inChunks)).toBe(false);
  expect(hasTooManyContainers(listOfBytes(1_000_000, 0x01))).toBe(false);
});

test("[S61] an upload of the maximum number of small operations is decoded", () => {
  const operations = Array.from({ length: 100_000 }, (_, i) => ({
    kind: "update" as const,
    collection: "c",
    id: i,
    edits: [{ kind: "set" as const, path: ["a"], value: 1 }],
  }));
  const steps = [{ time: 1, operations }];
  const bytes = encodeMessage({ t: "upload", number: 1, digest: new Uint8Array(32), steps });
  expect(hasTooManyContainers(bytes)).toBe(false);
});

test("[S1] more ids than a `want` may have are not decoded", () => {
  const ids = Array.from({ length: 100_001 }, () => 1);
  const bytes = encodeMessage({ t: "want", filter: new Uint8Array(16), ids });
  expect(failureOf(() => decodePeerMessage(bytes)).message).toBe(
    "expected a list of at most 100000 (a document id), found a list of 100001 at want.ids",
  );
});

test("[S61] any bytes are counted to their end", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (part) => {
      const bytes = new Uint8Array(70_000);
      for (let i = 0; i < bytes.length; i++) bytes[i] = part[i % part.length] ?? 0;
      expect(hasTooManyContainers(bytes)).toBeTypeOf("boolean");
    }),
    { numRuns: 50 },
  );
  const values: Value = Array.from({ length: 20_000 }, () => ({ a: [] }));
  expect(hasTooManyContainers(encodeCbor(values))).toBe(false);
});

test("[S61] an object with more fields than allowed is refused before it is created", () => {
  const few: [string, Value][] = Array.from({ length: 32_768 }, (_, i) => [i.toString(36), 1]);
  expect(hasTooManyContainers(encodeCbor({ a: Object.fromEntries(few) }))).toBe(false);
  const many = encodeCbor({ a: { ...Object.fromEntries(few), one: { more: 1 }, "-": 2 } });
  expect(hasTooManyContainers(many)).toBe(true);
});
