import type { ValueObject } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { SHAPE_COUNT_MAX, ShapeTable } from "../../src/lmdb/shape-table.ts";

function withKeys(keys: readonly string[]): ValueObject {
  return Object.fromEntries(keys.map((key) => [key, 1]));
}

/** Looks a shape up in values of so many different owners; returns the last answer. */
function show(table: ShapeTable, keys: string[], ownerCount: number): number {
  let number = -1;
  for (let i = 0; i < ownerCount; i++) {
    table.beginValue(`owner ${i}`);
    number = table.find(withKeys(keys));
  }
  return number;
}

test("a shape gets a number once enough different owners have it", () => {
  const table = new ShapeTable();
  expect(show(table, ["a", "b"], 5)).toBe(-1);
  table.beginValue("another");
  expect(table.find(withKeys(["a", "b"]))).toBe(0);
  expect(table.find(withKeys(["a", "b"]))).toBe(0);
  expect(show(table, ["b", "a"], 6)).toBe(1);
  expect(show(table, ["a"], 6)).toBe(2);
  expect(table.shapes).toEqual([["a", "b"], ["b", "a"], ["a"]]);
});

test("one owner written repeatedly is counted once", () => {
  const table = new ShapeTable();
  for (let i = 0; i < 100; i++) {
    table.beginValue("only");
    expect(table.find(withKeys(["a", "b"]))).toBe(-1);
  }
});

test("a shape that one value has many times is counted as often", () => {
  const table = new ShapeTable();
  table.beginValue("only");
  const numbers = Array.from({ length: 8 }, () => table.find(withKeys(["x", "y"])));
  expect(numbers).toEqual([-1, -1, -1, -1, -1, 0, 0, 0]);
});

test("a shape with a key that some readers would change gets no number", () => {
  const table = new ShapeTable();
  expect(show(table, ["a", "__proto__"], 50)).toBe(-1);
  expect(show(table, ["\ufeffa"], 50)).toBe(-1);
});

test("an object of very many keys gets no number", () => {
  const table = new ShapeTable();
  const keys = Array.from({ length: 65 }, (_, i) => `key ${i}`);
  expect(show(table, keys, 50)).toBe(-1);
  expect(show(table, keys.slice(1), 50)).toBe(0);
});

test("of an object of very many keys only as many are read as a shape may have", () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => `key ${i}`);
  let looks = 0;
  const object = new Proxy(withKeys(keys), {
    getOwnPropertyDescriptor(target, key) {
      looks++;
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  const table = new ShapeTable();
  table.beginValue("only");
  expect(table.find(object)).toBe(-1);
  expect(looks).toBeLessThanOrEqual(65);
});

test("a full table issues no more numbers and keeps those it has issued", () => {
  const table = new ShapeTable();
  for (let i = 0; i < SHAPE_COUNT_MAX; i++) expect(show(table, [`a${i}`, "b"], 6)).toBe(i);
  expect(show(table, ["one", "more"], 50)).toBe(-1);
  expect(show(table, ["a7", "b"], 1)).toBe(7);
  expect(table.shapes).toHaveLength(SHAPE_COUNT_MAX);
});

test("unlimited candidates are forgotten; shapes with a number are not", () => {
  const table = new ShapeTable();
  expect(show(table, ["kept", "known"], 6)).toBe(0);
  const numbers = new Set<number>();
  for (let i = 0; i < 60_000; i++) {
    table.beginValue(`owner ${i}`);
    numbers.add(table.find(withKeys([`user ${i}`, "known"])));
  }
  expect([...numbers]).toEqual([-1]);
  expect(show(table, ["kept", "known"], 1)).toBe(0);
  expect(show(table, ["other"], 6)).toBe(1);
});

test("shapes are unsaved until a commit has saved them, also after one that failed", () => {
  const table = new ShapeTable();
  show(table, ["a"], 6);
  show(table, ["b"], 6);
  expect(table.unsaved()).toEqual({ first: 0, shapes: [["a"], ["b"]] });
  // A commit that failed marks nothing.
  expect(table.unsaved()).toEqual({ first: 0, shapes: [["a"], ["b"]] });
  show(table, ["c"], 6);
  table.markSaved(2);
  expect(table.unsaved()).toEqual({ first: 2, shapes: [["c"]] });
});

test("loaded shapes have their numbers at once and count as saved", () => {
  const table = new ShapeTable();
  table.load([["a", "b"], ["c"]]);
  table.beginValue("owner");
  expect(table.find(withKeys(["a", "b"]))).toBe(0);
  expect(table.find(withKeys(["c"]))).toBe(1);
  expect(table.unsaved()).toEqual({ first: 2, shapes: [] });
  table.load([["d"]]);
  expect(table.find(withKeys(["d"]))).toBe(2);
});
