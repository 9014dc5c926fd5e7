import { expect, test } from "vitest";
import { ChecksummedPiece } from "../../src/lmdb/checksummed-piece.ts";
import { RecordCheck } from "../../src/lmdb/record-check.ts";

test("[K71] a record gets its checksum; one that has it, or cannot be read, is left unchanged", () => {
  const piece = new ChecksummedPiece();
  const old = new Uint8Array([0x92, 1, 2]);
  piece.add("old", old, () => undefined);
  piece.add("new", new Uint8Array([0xc1, 1, 2, 3, 4, 5]), () => undefined);
  piece.add("bad", old, () => {
    throw new Error("no record");
  });
  const { records, next, hasUnreadable } = piece.cutAt("z");
  expect({ next, hasUnreadable }).toEqual({ next: "z", hasUnreadable: true });
  expect(records.map(({ key }) => key)).toEqual(["old"]);
  const [record] = records;
  const bytes = record?.chunk ?? new Uint8Array();
  expect(new RecordCheck(true).valueStart(bytes, bytes.length, "old")).toBe(5);
  expect([...bytes.subarray(5)]).toEqual([...old]);
});

test("[K71] a piece is bounded by the number of records read and by its bytes", () => {
  const looked = new ChecksummedPiece();
  let count = 0;
  for (; !looked.isFull; count++) looked.add(`${count}`, new Uint8Array([0xc1]), () => undefined);
  expect(count).toBe(2000);
  const written = new ChecksummedPiece();
  const large = new Uint8Array(100_000).fill(1);
  for (count = 0; !written.isFull; count++) written.add(`${count}`, large, () => undefined);
  expect(count).toBe(3);
});
