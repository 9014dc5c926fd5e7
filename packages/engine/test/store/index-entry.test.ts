/**
 * Entries of an index as keys: their order is the order of the values, and a range of keys is a range of
 * values. Where a value is too long to be kept, a range holds more, and the entry says so.
 */

import { compareValues, documentId, type IndexKey, type Value } from "@bigpeer/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { KEY_SIZE_MAX, type KeyRange } from "../../src/platform.ts";
import {
  entryKeyOf,
  entryRange,
  IndexEntry,
  type IndexRange,
  POSITION_SIZE_MAX,
} from "../../src/store/index-entry.ts";
import type { Bound } from "../../src/store/keys.ts";
import type { IndexRecord } from "../../src/store/records.ts";
import { EDGE_VALUES } from "../support/index-history.ts";

const MISSING_TOO: readonly (Value | undefined)[] = [...EDGE_VALUES, undefined];
const DIRECTIONS = [false, true];

function indexOn(...directions: boolean[]): IndexRecord {
  const keys = directions.map((isDescending, i): IndexKey => ({ path: [`f${i}`], isDescending }));
  return { name: "ix", number: 7, keys };
}

function fieldsOf(...values: (Value | undefined)[]): Record<string, Value> {
  const fields: Record<string, Value> = {};
  for (const [i, value] of values.entries()) if (value !== undefined) fields[`f${i}`] = value;
  return fields;
}

function keyOf(index: IndexRecord, values: readonly (Value | undefined)[], id: Value): string {
  return entryKeyOf(index, fieldsOf(...values), documentId(id).key);
}

function isInside(key: string, { from, to }: KeyRange): boolean {
  return key >= from && key < to;
}

/** The entry lies in the range exactly when it should; a cut one at least when it should. */
function expectInside(
  index: IndexRecord,
  key: string,
  { range, isExpected }: { readonly range: IndexRange; readonly isExpected: boolean },
): void {
  const { isExact } = new IndexEntry(index, key);
  const isFound = isInside(key, entryRange(index, range));
  if (isFound === isExpected || (isFound && !isExact)) return;
  expect.fail(`${JSON.stringify(range)}: found ${isFound}, expected ${isExpected}`);
}

const values = fc.oneof(
  fc.constantFrom(...MISSING_TOO),
  fc.string({ unit: fc.constantFrom("\0", "a", "\u0001", "ÿ"), maxLength: 4 }),
  fc.integer({ min: -2, max: 2 }),
);
const rows = fc.tuple(values, values, values);
const directions = fc.tuple(fc.boolean(), fc.boolean(), fc.boolean());
const ids = fc.constantFrom<Value>("a", "a\0", "b", 1, ["a"]);

test("[K42] entries sort as their values do, each key in its direction, then by id", () => {
  fc.assert(
    fc.property(directions, rows, rows, fc.tuple(ids, ids), (down, a, b, [idA, idB]) => {
      const index = indexOn(...down);
      const [x, y] = [keyOf(index, a, idA), keyOf(index, b, idB)];
      let order = 0;
      for (const [i, isDescending] of down.entries()) {
        order ||= compareValues(a[i], b[i]) * (isDescending ? -1 : 1);
      }
      const [p, q] = [new IndexEntry(index, x), new IndexEntry(index, y)];
      if (p.position === q.position) {
        // The same place means the same values, unless both are cut.
        if (order !== 0) expect([p.isExact, q.isExact]).toEqual([false, false]);
        expect(x < y).toBe(compareValues(idA, idB) < 0);
      } else {
        expect(x > y ? 1 : -1).toBe(order);
      }
    }),
    { numRuns: runs(20_000) },
  );
});

test("[K42] an entry returns its id and its values, MISSING included", () => {
  fc.assert(
    fc.property(directions, rows, ids, (down, row, id) => {
      const index = indexOn(...down);
      const entry = new IndexEntry(index, keyOf(index, row, id));
      expect(entry.id).toEqual(id);
      expect(entry.idKey).toBe(documentId(id).key);
      if (entry.isExact) expect(entry.values()).toEqual(row);
      else expect(entry.values()).toBeUndefined();
    }),
    { numRuns: runs(5000) },
  );
});

test("[K42] values equal to a value, and texts with a prefix, form one range", () => {
  const texts = MISSING_TOO.filter((value) => typeof value === "string");
  for (const isDescending of DIRECTIONS) {
    const index = indexOn(isDescending, false);
    for (const value of MISSING_TOO) {
      const key = keyOf(index, [value, "next"], "id");
      for (const other of MISSING_TOO) {
        const isExpected = compareValues(value, other) === 0;
        expectInside(index, key, { range: { equal: [other] }, isExpected });
      }
      for (const startsWith of texts) {
        const isExpected = typeof value === "string" && value.startsWith(startsWith);
        expectInside(index, key, { range: { startsWith }, isExpected });
      }
    }
  }
});

test("[K42] bounds are bounds of values, whatever the direction of the key", () => {
  const bounds = MISSING_TOO.flatMap((value): Bound[] => [
    { value, isIncluded: true },
    { value, isIncluded: false },
  ]);
  for (const isDescending of DIRECTIONS) {
    const [first, second] = [indexOn(isDescending), indexOn(true, isDescending)];
    for (const value of MISSING_TOO) {
      const [alone, behind] = [keyOf(first, [value], "id"), keyOf(second, ["same", value], "id")];
      for (const bound of bounds) {
        const order = compareValues(value, bound.value);
        const isEqual = order === 0 && bound.isIncluded;
        const equal = ["same"];
        for (const [side, isExpected] of [
          ["low", order > 0 || isEqual],
          ["high", order < 0 || isEqual],
        ] as const) {
          expectInside(first, alone, { range: { [side]: bound }, isExpected });
          expectInside(second, behind, { range: { equal, [side]: bound }, isExpected });
        }
        const other = { equal: ["other"], low: bound };
        expectInside(second, behind, { range: other, isExpected: false });
      }
    }
  }
});

test("[K42] bounds with nothing between them are an empty range", () => {
  const index = indexOn(false);
  const low = { value: 2, isIncluded: true };
  const high = { value: 1, isIncluded: true };
  const { from, to } = entryRange(index, { low, high });
  expect(from >= to).toBe(true);
});

test("[K44] a position has at most 768 bytes, and the longest id still fits a key", () => {
  const index = indexOn(false, true);
  const id = "i".repeat(1022);
  const key = keyOf(index, ["é".repeat(5000), "z".repeat(5000)], id);
  expect(key.length).toBeLessThanOrEqual(KEY_SIZE_MAX);
  const entry = new IndexEntry(index, key);
  expect([entry.id, entry.isExact, entry.position.length]).toEqual([id, false, POSITION_SIZE_MAX]);
  const long = { value: "x".repeat(10_000), isIncluded: false };
  const range = entryRange(index, { equal: [null], low: long, high: long });
  expect(Math.max(range.from.length, range.to.length)).toBeLessThan(KEY_SIZE_MAX);
});

test("[K44] text after a value that was cut does not move an entry", () => {
  const index = indexOn(false, false);
  const long = "x".repeat(2000);
  expect(keyOf(index, [`${long}a`, 1], "id")).toBe(keyOf(index, [`${long}b`, 2], "id"));
  // A pair of surrogates across the cut is no text of its own.
  const pairs = "\u{1f697}".repeat(1000);
  expect(keyOf(index, [pairs, 1], "id")).toBe(keyOf(index, [`${pairs}!`, 1], "id"));
  expect(keyOf(index, [`x${pairs}`, 1], "id")).toBe(keyOf(index, [`x${pairs}!`, 1], "id"));
});

test("a range of more keys than the index has is a caller error", () => {
  const index = indexOn(false);
  const low = { value: 1, isIncluded: true };
  expect(() => entryRange(index, { equal: [1], low })).toThrow("a range of keys of the index");
  expect(() => entryRange(index, { equal: [1, 2] })).toThrow("a range of keys of the index");
  expect(() => entryRange(index, { equal: [1], startsWith: "a" })).toThrow("a range of keys");
});
