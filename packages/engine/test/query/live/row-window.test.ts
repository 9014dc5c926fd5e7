import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type HeldRow, RowWindow } from "../../../src/query/live/row-window.ts";
import { compareData } from "../../../src/query/value/compare.ts";
import type { Datum } from "../../../src/query/value/datum.ts";

function rowOf(id: number, key: number): HeldRow {
  const idKey = String(id).padStart(4, "0");
  return { id, idKey, keys: [key], document: undefined, item: undefined, bytes: 1 };
}

function byKey(a: readonly Datum[], b: readonly Datum[]): number {
  return compareData(a[0], b[0]);
}

/** Takes the row of a document out, if it is here. */
function drop(window: RowWindow, idKey: string): void {
  const row = window.find(idKey);
  if (row !== undefined) window.remove(row);
}

function idsOf(rows: readonly HeldRow[]): unknown[] {
  return rows.map(({ id }) => id);
}

function windowOf(count: number, limit: number, offset = 0): RowWindow {
  const window = new RowWindow(byKey, { offset, limit });
  const rows = Array.from({ length: count }, (_, i) => rowOf(i, i));
  window.fill(rows, true);
  return window;
}

test("rows are in the order of their keys, and rows with equal keys in the order of ids", () => {
  const window = new RowWindow(byKey, { offset: 0, limit: Infinity });
  for (const [id, key] of [
    [3, 1],
    [1, 2],
    [2, 1],
    [4, 0],
  ] as const)
    window.add(rowOf(id, key));
  expect(idsOf(window.given)).toEqual([4, 2, 3, 1]);
});

test("a row of the reserve moves up when an earlier one is removed", () => {
  const window = windowOf(100, 2);
  drop(window, "0000");
  expect(idsOf(window.given)).toEqual([1, 2]);
  expect(window.isShort).toBe(false);
});

test("a window is short when its reserve is exhausted and there may be more rows", () => {
  const window = windowOf(100, 2);
  for (let i = 0; i < 16; i++) drop(window, String(i).padStart(4, "0"));
  expect(window.isShort).toBe(false);
  drop(window, "0016");
  expect(window.isShort).toBe(true);
});

test("a window that has all rows is never short", () => {
  const window = windowOf(3, 5);
  for (const idKey of ["0000", "0001", "0002"]) drop(window, idKey);
  expect(window.isShort).toBe(false);
  expect(window.length).toBe(0);
});

test("a row beyond the bound is not kept, even if there is space", () => {
  const window = windowOf(100, 2);
  drop(window, "0000");
  expect(window.add(rowOf(200, 50))).toBeUndefined();
  expect(window.add(rowOf(201, 0.5))).toBe(0);
  expect(idsOf(window.given)).toEqual([201, 1]);
});

test("a window holds only the needed rows and the reserve", () => {
  const window = windowOf(0, 2, 1);
  for (let i = 0; i < 100; i++) window.add(rowOf(i, -i));
  expect(window.length).toBe(3 + 16);
  expect(window.bytes).toBe(3 + 16);
  expect(idsOf(window.given)).toEqual([98, 97]);
});

test("LIMIT 0 holds nothing", () => {
  const window = windowOf(10, 0, 3);
  window.add(rowOf(20, 0));
  expect(window.length).toBe(0);
  expect(window.given).toEqual([]);
  expect(window.isShort).toBe(false);
});

function isGivenBy(window: RowWindow, { idKey }: HeldRow): boolean {
  const row = window.find(idKey);
  return row !== undefined && window.isGiven(row);
}

const anySteps = fc.array(
  fc.record({ id: fc.nat(40), key: fc.option(fc.nat(5), { nil: undefined }) }),
  { maxLength: 80 },
);

test("unless it is short, a window equals a list of all rows", () => {
  fc.assert(
    fc.property(fc.nat(4), fc.integer({ min: 1, max: 6 }), anySteps, (offset, limit, steps) => {
      const window = new RowWindow(byKey, { offset, limit });
      const all = new Map<number, HeldRow>();
      const inOrder = (): HeldRow[] => [...all.values()].sort(window.order);
      for (let id = 0; id < 30; id++) all.set(id, rowOf(id, id % 5));
      window.fill(inOrder(), true);
      for (const { id, key } of steps) {
        const row = rowOf(id, key ?? 0);
        drop(window, row.idKey);
        all.delete(id);
        if (key !== undefined) {
          all.set(id, row);
          window.add(row);
        }
        if (window.isShort) window.fill(inOrder().slice(0, window.capacity), false);
        expect(idsOf(window.given)).toEqual(idsOf(inOrder().slice(offset, offset + limit)));
        const given = idsOf(inOrder().filter((each) => isGivenBy(window, each)));
        expect(given).toEqual(idsOf(window.given));
        expect(window.bytes).toBe(window.length);
      }
    }),
  );
});
