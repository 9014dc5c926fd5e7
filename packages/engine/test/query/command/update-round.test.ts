/**
 * Rounds of an update: what meets is written one after the other, all else together.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { FieldEdit } from "../../../src/query/command/field-edit.ts";
import { roundsOf } from "../../../src/query/command/update-round.ts";

function edit(path: string): FieldEdit {
  return { kind: "convert", path: path.split(".") };
}

function paths(rounds: readonly (readonly FieldEdit[])[]): string[][] {
  return rounds.map((round) => round.map((each) => each.path.join(".")));
}

test("paths that do not overlap share a round", () => {
  expect(paths(roundsOf(["a", "b", "c.d", "c.e"].map(edit)))).toEqual([["a", "b", "c.d", "c.e"]]);
});

test("a path that occurs again, above or below another, comes in a later round", () => {
  expect(paths(roundsOf(["a.b", "x", "a", "a.c", "a.b", "x"].map(edit)))).toEqual([
    ["a.b", "x"],
    ["a", "x"],
    ["a.c", "a.b"],
  ]);
});

test("for any paths, no two of a round overlap, and overlapping ones keep their order", () => {
  const path = fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 3 });
  const meet = (a: FieldEdit, b: FieldEdit): boolean =>
    a.path.every((name, i) => i >= b.path.length || name === b.path[i]);
  fc.assert(
    fc.property(fc.array(path, { maxLength: 12 }), (all) => {
      const edits = all.map((each): FieldEdit => ({ kind: "convert", path: each }));
      const rounds = roundsOf(edits);
      expect(new Set(rounds.flat())).toEqual(new Set(edits));
      const roundOf = (each: FieldEdit): number =>
        rounds.findIndex((round) => round.includes(each));
      for (const [i, later] of edits.entries()) {
        for (const earlier of edits.slice(0, i)) {
          if (meet(earlier, later)) expect(roundOf(earlier)).toBeLessThan(roundOf(later));
        }
      }
    }),
  );
});

function set(path: string): FieldEdit {
  const names = path.split(".");
  const written = { kind: "set", path: names, value: 1 } as const;
  return { kind: "fixed", path: names, edit: written, token: undefined };
}

function increment(path: string, by: number, at = ""): FieldEdit {
  return { kind: "increment", path: path.split("."), by, at };
}

test("an edit that depends on the values above it waits for the first set that makes maps of them", () => {
  const edits = [set("a.b"), edit("a.c"), set("a.d"), edit("a.e"), edit("b.c"), set("b.d")];
  expect(paths(roundsOf(edits))).toEqual([
    ["a.b", "a.d", "b.c", "b.d"],
    ["a.c", "a.e"],
  ]);
});

test("an edit that depends on a value is not overtaken by a set that makes a map of it", () => {
  const edits = [set("a.x.p"), edit("a.y.q"), set("a.y.z"), set("a.z")];
  expect(paths(roundsOf(edits))).toEqual([
    ["a.x.p", "a.z"],
    ["a.y.q", "a.y.z"],
  ]);
});

test("increments of one path are combined at the place of the last, unless another edit overlaps", () => {
  const edits = [
    increment("a.n", 1),
    set("a.x"),
    increment("a.n", 2, "last"),
    increment("b", 1),
    set("b.c"),
    increment("b", 1),
    increment("c.n", 1),
    set("c"),
    increment("c.n", 1),
  ];
  expect(roundsOf(edits)).toEqual([
    [increment("a.n", 3, "last"), set("a.x"), increment("b", 1), increment("c.n", 1)],
    [set("b.c"), set("c")],
    [increment("b", 1), increment("c.n", 1)],
  ]);
});
