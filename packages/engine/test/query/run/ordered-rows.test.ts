/**
 * OrderedRows beside a sort of everything: the first so many are the same, and no more is counted.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Budget } from "../../../src/query/frame/budget.ts";
import type { Frame } from "../../../src/query/frame/frame.ts";
import { finish } from "../../../src/query/frame/steps.ts";
import { OrderedRows } from "../../../src/query/run/ordered-rows.ts";
import { compileSorter, type Sorter } from "../../../src/query/run/sort.ts";
import type { OrderTerm } from "../../../src/query/syntax/tree.ts";
import type { Datum } from "../../../src/query/value/datum.ts";
import { memorySize } from "../../../src/query/value/memory-size.ts";

function budget(): Budget {
  return new Budget({ elapsed: () => 0, timeMsMax: 1000, bytesMax: Infinity });
}

/** Orders by what stands in the first places of a frame. */
function terms(directions: readonly Pick<OrderTerm, "isDescending" | "nulls">[]): OrderTerm[] {
  return directions.map((direction, slot) => ({
    ...direction,
    expression: { kind: "slot", slot, holds: "value", name: "", at: 0 },
  }));
}

function sorterOf(order: readonly OrderTerm[]): Sorter {
  const sorter = compileSorter(order);
  if (sorter === undefined) throw new Error("expected an order");
  return sorter;
}

interface Row {
  readonly keys: readonly Datum[];
  readonly number: number;
  readonly name: string;
}

/** Keeps rows as statements do. */
function keepAll(rows: readonly Row[], ordered: OrderedRows<Row>, isDistinct: boolean): void {
  for (const row of rows) {
    const keys = ordered.keysOf({ slots: [...row.keys] } as unknown as Frame);
    if (keys === undefined) continue;
    if (isDistinct) ordered.keepDistinct(keys, row, 100, row.name);
    else ordered.keep(keys, row, 100);
  }
}

function rowsIn(ordered: OrderedRows<Row>, places: Uint32Array): Row[] {
  return Array.from(places, (place) => ordered.rowAt(place));
}

const key = fc.constantFrom<Datum[]>(undefined, null, false, 1, 2, 3, "a", "b", [1]);
const direction = fc.record({
  isDescending: fc.boolean(),
  nulls: fc.constantFrom<OrderTerm["nulls"][]>(undefined, "first", "last"),
}) as fc.Arbitrary<Pick<OrderTerm, "isDescending" | "nulls">>;
/** Often numbers alone, which have a way of their own. */
const pair = fc.oneof(fc.tuple(key, key), fc.tuple(fc.constantFrom(-1, -0, 0, 0.5), key));
const rowsOf = fc
  .oneof(fc.constant(pair), fc.constant(fc.tuple(fc.constantFrom(3, 1, -0, 0, Infinity), key)))
  .chain((keys) =>
    fc.array(fc.record({ keys, name: fc.constantFrom("x", "y", "z", "v", "w") }), {
      maxLength: 60,
    }),
  )
  .map((rows) => rows.map((row, number): Row => ({ ...row, number })));

test("the first rows equal those of a full stable sort, and only they count as memory", () => {
  fc.assert(
    fc.property(
      rowsOf,
      fc.tuple(direction, direction),
      fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(Infinity)),
      fc.boolean(),
      (rows, directions, countMax, isDistinct) => {
        const order = terms(directions);
        const counted = budget();
        const sorter = sorterOf(order);
        const ordered = new OrderedRows<Row>(sorter, counted, countMax);
        keepAll(rows, ordered, isDistinct);
        const compare = ({ keys: a }: Row, { keys: b }: Row): number =>
          sorter.comparisons.reduce((found, each, i) => found || each(a[i], b[i]), 0);
        const names = new Set<string>();
        const expected = rows
          .toSorted(compare)
          .filter(({ name }) => !isDistinct || (!names.has(name) && names.add(name)))
          .slice(0, countMax);
        const size = (row: Row): number =>
          100 + memorySize(row.keys[0]) + memorySize(row.keys[1]) + (isDistinct ? 2 : 0);
        const bytes = expected.reduce((sum, row) => sum + size(row), 0);
        expect([counted.taken, ordered.bytes]).toEqual([bytes, bytes]);
        expect(rowsIn(ordered, finish(ordered.inOrder()))).toEqual(expected);
      },
    ),
  );
});

test("many rows are sorted in pieces, with a pause after each", () => {
  const order = terms([{ isDescending: true }]);
  const ordered = new OrderedRows<Row>(sorterOf(order), budget(), Infinity);
  const count = 20_000;
  const rows = Array.from({ length: count }, (_, number): Row => {
    return { keys: [(number * 7919) % count], number, name: "" };
  });
  keepAll(rows, ordered, false);
  let pauses = 0;
  const steps = ordered.inOrder();
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses++;
  expect(pauses).toBeGreaterThan(10);
  expect(rowsIn(ordered, step.value).map(({ keys }) => keys[0])).toEqual(
    Array.from({ length: count }, (_, i) => count - 1 - i),
  );
});

test("a sort ends at the time limit of the statement", () => {
  let now = 0;
  const short = new Budget({ elapsed: () => now, timeMsMax: 10, bytesMax: Infinity });
  const ordered = new OrderedRows<Row>(sorterOf(terms([{ isDescending: false }])), short, Infinity);
  const rows = Array.from({ length: 5000 }, (_, number) => ({ keys: [number], number, name: "" }));
  keepAll(rows, ordered, false);
  now = 10;
  expect(() => finish(ordered.inOrder())).toThrow("took longer than 10 ms");
});
