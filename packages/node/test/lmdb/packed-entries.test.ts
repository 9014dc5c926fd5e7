import { expect, test } from "vitest";
import { type EncodedWrite, encodedAs } from "../../src/lmdb/encoded-write.ts";
import {
  eachEntry,
  type PackedPiece,
  packEntries,
  packedFront,
  writePackedHead,
} from "../../src/lmdb/packed-entries.ts";

const MEGABYTE = 1024 * 1024;

function entriesOf(pieces: readonly PackedPiece[]): [string, string | undefined][] {
  const entries: [string, string | undefined][] = [];
  for (const piece of pieces) {
    eachEntry(piece, (key, value) => {
      const text = value === undefined ? undefined : Buffer.from(value).toString("latin1");
      entries.push([Buffer.from(key).toString("latin1"), text]);
    });
  }
  return entries;
}

function removal(key: string): EncodedWrite {
  return { key, keySize: key.length, chunk: undefined, start: 0, size: 0, place: "shared" };
}

/** In memory of its own, with room in front. */
function alone(key: string, text: string): EncodedWrite {
  const front = packedFront(key);
  const memory = Buffer.allocUnsafeSlow(front + text.length);
  memory.write(text, front, "latin1");
  return { ...encodedAs(key, memory.subarray(front)), place: "alone" };
}

test("[K32] entries are unpacked in order, and a large one is passed without a copy", () => {
  const large = "0123456789abcdef".repeat((5 * MEGABYTE) / 16);
  const entries: EncodedWrite[] = [
    encodedAs("a", Buffer.from("small")),
    removal("b\xff"),
    alone("c", large),
    encodedAs("d", new Uint8Array()),
    encodedAs("e", Buffer.from("x".repeat(500_000))),
  ];
  const memory = entries[2]?.chunk?.buffer;
  const pieces = [...packEntries(entries)];
  expect(entriesOf(pieces)).toEqual([
    ["a", "small"],
    ["b\xff", undefined],
    ["c", large],
    ["d", ""],
    ["e", "x".repeat(500_000)],
  ]);
  expect(pieces[1]?.buffer).toBe(memory);
  expect(entries).toEqual([]);
});

/** Each text under the key that is its first letter, packed behind each other in one chunk. */
function packed(...texts: readonly string[]): EncodedWrite[] {
  const chunk = Buffer.allocUnsafeSlow(
    10 + texts.join("").length + texts.length * packedFront("k"),
  );
  let at = 10;
  return texts.map((text) => {
    const [key, size] = [text.charAt(0), text.length];
    const start = writePackedHead(chunk, at, key, size);
    at = start + chunk.write(text, start, "latin1");
    return { key, keySize: 1, chunk, start, size, place: "packed" };
  });
}

test("[K32] entries that are packed already are copied as they are", () => {
  const text = (key: string, size = 5): string => key.padEnd(size, "x");
  const near = packed(text("a"), text("b"), text("c"), text("d"));
  const far = packed(text("e", 200_000), text("f", 100_000));
  // Neighbours, others of the same chunk, and others between them.
  const lent = encodedAs("l", Buffer.from("lent"));
  const [from, skipped, rest] = [near.slice(0, 2), near.slice(2, 3), near.slice(3)];
  const entries = [...from, ...rest, lent, ...skipped, removal("r"), ...far];
  const pieces = [...packEntries(entries)];
  expect(pieces).toHaveLength(2);
  expect(entriesOf(pieces)).toEqual([
    ["a", text("a")],
    ["b", text("b")],
    ["d", text("d")],
    ["l", "lent"],
    ["c", text("c")],
    ["r", undefined],
    ["e", text("e", 200_000)],
    ["f", text("f", 100_000)],
  ]);
});

test("a piece is sent in memory of its own", () => {
  const entries = Array.from({ length: 3 }, (_, i) =>
    encodedAs(`key ${i}`, Buffer.from("x".repeat(200_000))),
  );
  const pieces = [...packEntries(entries)];
  expect(pieces).toHaveLength(3);
  for (const { byteOffset, length, buffer } of pieces) {
    expect(byteOffset).toBe(0);
    expect(length).toBeLessThanOrEqual(buffer.byteLength);
  }
  expect(new Set(pieces.map(({ buffer }) => buffer)).size).toBe(3);
});
