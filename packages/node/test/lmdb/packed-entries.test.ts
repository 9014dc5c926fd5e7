import { expect, test } from "vitest";
import {
  eachEntry,
  packEntries,
  packedFront,
  type UnpackedEntry,
} from "../../src/lmdb/packed-entries.ts";

const MEGABYTE = 1024 * 1024;

function entriesOf(pieces: readonly ArrayBuffer[]): [string, string | undefined][] {
  const entries: [string, string | undefined][] = [];
  for (const piece of pieces) {
    eachEntry(piece, (key, value) => {
      const text = value === undefined ? undefined : Buffer.from(value).toString("latin1");
      entries.push([Buffer.from(key).toString("latin1"), text]);
    });
  }
  return entries;
}

/** In memory of its own, with room in front. */
function alone(key: string, text: string): UnpackedEntry {
  const front = packedFront(key);
  const memory = Buffer.allocUnsafeSlow(front + text.length);
  memory.write(text, front, "latin1");
  return { key, value: memory.subarray(front), isAlone: true };
}

test("[K32] entries are unpacked in order, and a large one is passed without a copy", () => {
  const large = "0123456789abcdef".repeat((5 * MEGABYTE) / 16);
  const entries: UnpackedEntry[] = [
    { key: "a", value: Buffer.from("small") },
    { key: "b\xff", value: undefined },
    alone("c", large),
    { key: "d", value: new Uint8Array() },
    { key: "e", value: Buffer.from("x".repeat(100_000)) },
  ];
  const pieces = [...packEntries(entries)];
  expect(entriesOf(pieces)).toEqual([
    ["a", "small"],
    ["b\xff", undefined],
    ["c", large],
    ["d", ""],
    ["e", "x".repeat(100_000)],
  ]);
  expect(pieces[1]).toBe(entries[2]?.value?.buffer);
});
