/**
 * The records of commits: large commits have several, and what is read is what was written.
 */

import type { Value } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { decodeLogRecord, encodeCommit } from "../../../src/web/storage/log-record.ts";

test("[K88] a commit of many megabytes is several records, which together have all writes", () => {
  const size = 6 * 1024 * 1024;
  const entries = Array.from({ length: 7 }, (_, i): [string, Value | undefined] => [
    `key ${i}`,
    i === 3 ? undefined : new Uint8Array(size).fill(i),
  ]);
  const { records, changes } = encodeCommit(new Map(entries), 10, () => {});
  expect(records.map(({ sequence }) => sequence)).toEqual([10, 11]);
  const read = records.flatMap(({ sequence, bytes }) => decodeLogRecord(sequence, bytes));
  for (const list of [changes, read]) {
    expect(list.map(([key]) => key)).toEqual(entries.map(([key]) => key));
    const firsts = list.map(([, stored]) => (stored?.decode() as Uint8Array | undefined)?.[9]);
    expect(firsts).toEqual([0, 1, 2, undefined, 4, 5, 6]);
  }
});

test("a commit without writes has no record", () => {
  expect(encodeCommit(new Map(), 1, () => {}).records).toEqual([]);
});
