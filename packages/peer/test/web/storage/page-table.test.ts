/**
 * The table of pages against a sorted map: random changes, with pages that are split and merged.
 */

import type { KeyRange } from "@bigpeer/engine";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../protocol/test/support/test-size.ts";
import type { Change } from "../../../src/web/storage/entry-list.ts";
import {
  PAGE_KEYS_MAX,
  PAGE_SIZE_MAX,
  type Page,
  PageTable,
} from "../../../src/web/storage/page-table.ts";
import { StoredValue } from "../../../src/web/storage/stored-value.ts";

const SOURCE = { bytes: new Uint8Array(0), place: "test", check: undefined };

function value(size: number): StoredValue {
  return new StoredValue(SOURCE, 0, size);
}

function keysIn(table: PageTable, range: KeyRange): string[] {
  const keys: string[] = [];
  for (const walk = table.walk(range); walk.key !== undefined; walk.next()) keys.push(walk.key);
  return keys;
}

function expectTable(table: PageTable, model: ReadonlyMap<string, StoredValue>): void {
  const sorted = [...model.keys()].toSorted();
  const all = { from: "", to: "\xff" };
  expect(keysIn(table, all)).toEqual(sorted);
  const back = keysIn(table, { ...all, reverse: true });
  expect(back).toEqual(sorted.toReversed());
  const some = { from: sorted[sorted.length >> 2] ?? "", to: sorted[sorted.length >> 1] ?? "" };
  expect(keysIn(table, some)).toEqual(sorted.filter((key) => key >= some.from && key < some.to));
  for (const [key, stored] of model) expect(table.get(key) === stored).toBe(true);
  expect(table.get("absent")).toBeUndefined();
  for (const [index, page] of table.pages.entries()) expectPage(page, table.pages[index + 1]);
}

function expectPage(page: Page, next: Page | undefined): void {
  const { keys, values, blocks } = page.entries;
  const sizes = keys.map((key, i) => key.length + (values[i]?.size ?? 0));
  expect(page.size).toBe(sizes.reduce((sum, size) => sum + size, 0));
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.length).toBeLessThanOrEqual(PAGE_KEYS_MAX);
  if (keys.length > 1) expect(page.size).toBeLessThanOrEqual(PAGE_SIZE_MAX);
  if (next !== undefined)
    expect((keys.at(-1) ?? "") < next.name && page.name < next.name).toBe(true);
  for (const block of blocks) expect(block.keys.length).toBeGreaterThan(0);
}

const change = fc.tuple(
  fc.integer({ min: 0, max: 3000 }).map((number) => `key ${number}`),
  fc.option(fc.constantFrom(0, 10, 500, 20_000, 300_000), { nil: undefined, freq: 3 }),
);
const step = fc.record({
  changes: fc.array(change, { maxLength: 60 }),
  /** Removes all keys from here on, or all below. */
  cut: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: undefined, freq: 6 }),
  isCutBelow: fc.boolean(),
});

test("random changes agree with a sorted map, old tables stay, and pages keep their bounds", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      let table = new PageTable([]);
      const model = new Map<string, StoredValue>();
      const kept: [PageTable, Map<string, StoredValue>][] = [];
      for (const { changes, cut, isCutBelow } of steps) {
        const writes = new Map<string, StoredValue | undefined>();
        for (const [key, size] of changes) {
          writes.set(key, size === undefined ? undefined : value(size));
        }
        if (cut !== undefined) {
          for (const key of model.keys()) {
            if (key < `key ${cut}` === isCutBelow) writes.set(key, undefined);
          }
        }
        kept.push([table, new Map(model)]);
        table = table.with(writes);
        for (const [key, stored] of writes) {
          if (stored === undefined) model.delete(key);
          else model.set(key, stored);
        }
        expectTable(table, model);
      }
      for (const [old, state] of kept) expectTable(old, state);
    }),
    { numRuns: histories(150) },
  );
});

test("keys below the name of the first page are in order by the names of pages, when it is split", () => {
  const large = (...keys: string[]): Change[] => keys.map((key) => [key, value(PAGE_SIZE_MAX / 2)]);
  const table = new PageTable([])
    .with(large("a", "b", "m", "n"))
    .with([
      ["a", undefined],
      ["b", undefined],
    ])
    .with(large("c", "d", "e"));
  const names = table.pages.map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
  expect(keysIn(table, { from: "", to: "z" })).toEqual(["c", "d", "e", "m", "n"]);
  for (const key of ["c", "d", "e", "m", "n"]) expect(table.get(key)).toBeDefined();
});

test("a change shares all pages that it does not touch", () => {
  const changes = Array.from(
    { length: 20_000 },
    (_, i): Change => [`key ${String(i).padStart(5, "0")}`, value(100)],
  );
  const table = new PageTable([]).with(changes);
  expect(table.pages.length).toBeGreaterThan(8);
  const after = table.with([["key 10000", value(50)]]);
  const shared = after.pages.filter((page) => table.pages.includes(page));
  expect(shared).toHaveLength(table.pages.length - 1);
  expect(after.pages).toHaveLength(table.pages.length);
});

test("pages that become small are merged, and a table can be emptied", () => {
  const keys = Array.from({ length: 5000 }, (_, i) => `key ${String(i).padStart(5, "0")}`);
  const table = new PageTable([]).with(keys.map((key): Change => [key, value(200)]));
  const few = table.with(keys.filter((_, i) => i % 50 > 0).map((key): Change => [key, undefined]));
  expect(few.pages).toHaveLength(1);
  const none = few.with(keys.map((key): Change => [key, undefined]));
  expect(none.pages).toHaveLength(0);
});
