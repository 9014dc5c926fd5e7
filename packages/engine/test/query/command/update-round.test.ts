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

test("paths that do not meet share a round", () => {
  expect(paths(roundsOf(["a", "b", "c.d", "c.e"].map(edit)))).toEqual([["a", "b", "c.d", "c.e"]]);
});

test("a path that stands again, above or below another, comes in a later round", () => {
  expect(paths(roundsOf(["a.b", "x", "a", "a.c", "a.b", "x"].map(edit)))).toEqual([
    ["a.b", "x"],
    ["a", "x"],
    ["a.c", "a.b"],
  ]);
});

test("whatever the paths: no two of a round meet, and those that meet keep their order", () => {
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
