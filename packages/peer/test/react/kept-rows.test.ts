/**
 * Rows of a new result have the objects of the last one where they are equal.
 */
import { assert, nat, property, record, uniqueArray } from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../protocol/test/support/test-size.ts";
import { keepRows } from "../../src/react/kept-rows.ts";

interface Row {
  readonly id: number;
  readonly n?: number;
}

const rowsOf = (...ids: number[]): Row[] => ids.map((id) => ({ id }));

test("an equal result is the array of before", () => {
  const last = rowsOf(1, 2, 3);
  expect(keepRows(last, rowsOf(1, 2, 3))).toBe(last);
  expect(keepRows([], [])).toEqual([]);
});

test("a row that changed is a new object, and the others are those of before", () => {
  const last = rowsOf(1, 2, 3);
  const next = keepRows(last, [{ id: 1 }, { id: 2, n: 1 }, { id: 3 }]);
  expect(next).toEqual([{ id: 1 }, { id: 2, n: 1 }, { id: 3 }]);
  expect(next).not.toBe(last);
  expect(next[0]).toBe(last[0]);
  expect(next[2]).toBe(last[2]);
});

test("rows that moved are those of before", () => {
  const last = rowsOf(1, 2, 3, 4);
  const next = keepRows(last, rowsOf(4, 5, 2, 1));
  expect(next.map((row) => last.indexOf(row))).toEqual([3, -1, 1, 0]);
});

test("a field with the name of another type, bytes and large integers tell rows apart", () => {
  const last = [{ id: 1n }, { id: Uint8Array.of(1) }, { id: "1" }, { id: [1] }, { id: 1 }];
  const next = keepRows(
    last as object[],
    [...last].toReversed().map((row) => ({ ...row })),
  );
  expect(next).toEqual(last.toReversed());
  expect(next.map((row) => last.indexOf(row as never))).toEqual([4, 3, 2, 1, 0]);
});

test("in any result, the rows are those of the result, and equal ones are those of before", () => {
  const row = record({ id: nat(8), n: nat(1) });
  const list = uniqueArray(row, { maxLength: 8, selector: ({ id }) => id });
  const holds = property(list, list, (last, next) => {
    const kept = keepRows(last, next);
    expect(kept).toEqual(next);
    for (const each of kept) {
      const equals = last.filter(({ id, n }) => id === each.id && n === each.n);
      if (equals.length > 0) expect(equals).toContain(each);
      else expect(next).toContain(each);
    }
  });
  assert(holds, { numRuns: runs(2000), seed: 27 });
});
