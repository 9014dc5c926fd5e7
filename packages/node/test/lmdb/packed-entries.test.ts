import { expect, test } from "vitest";
import { type EncodedWrite, encodedAs } from "../../src/lmdb/encoded-write.ts";
import {
  eachEntry,
  type PackedPiece,
  packEntries,
  packedFront,
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
  return { key, keySize: key.length, chunk: undefined, start: 0, size: 0, isAlone: false };
}

/** In memory of its own, with room in front. */
function alone(key: string, text: string): EncodedWrite {
  const front = packedFront(key);
  const memory = Buffer.allocUnsafeSlow(front + text.length);
  memory.write(text, front, "latin1");
  return { ...encodedAs(key, memory.subarray(front)), isAlone: true };
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
