/** Shares: what one owner may have, and that nothing stays of whoever has nothing. */

import { expect, test } from "vitest";
import { Shares } from "../../src/limits/shares.ts";

test("[H45] one owner has a part of all, and others get the rest", () => {
  const shares = new Shares({ max: 10, perOwnerMax: 6 });
  expect([shares.take("a", 6), shares.take("a"), shares.hasLeft("a")]).toEqual([
    true,
    false,
    false,
  ]);
  expect([shares.take("b", 5), shares.take("b", 4), shares.taken]).toEqual([false, true, 10]);
  expect([shares.hasLeft("c"), shares.take("c")]).toEqual([false, false]);
  shares.give("a", 6);
  expect([shares.take("c", 6), shares.takenBy("a"), shares.takenBy("c")]).toEqual([true, 0, 6]);
});

test("the budget of an owner is a part of the shares", () => {
  const shares = new Shares({ max: 10, perOwnerMax: 6 });
  const room = shares.roomOf("a");
  expect([room.take(6), room.take(1), shares.takenBy("a")]).toEqual([true, false, 6]);
  room.give(6);
  expect(shares.taken).toBe(0);
});

test("[H5] however many owners a group has, the last part is for groups that have little", () => {
  const shares = new Shares({ max: 64, perOwnerMax: 32, areGrouped: true });
  expect([shares.take("a 1", 32), shares.take("a 2", 32), shares.take("a 2", 24)]).toEqual([
    true,
    false,
    true,
  ]);
  expect(["a 1", "a 2", "a 3"].map((owner) => shares.hasLeft(owner))).toEqual([
    false,
    false,
    false,
  ]);
  // Two each, for four others.
  expect([shares.take("b 1", 2), shares.take("b 2"), shares.take("b 1")]).toEqual([
    true,
    false,
    false,
  ]);
  for (const other of ["c", "d", "e"]) expect(shares.take(other, 2)).toBe(true);
  expect([shares.taken, shares.hasLeft("f")]).toEqual([64, false]);
  shares.give("a 1", 32);
  expect([shares.take("b 2", 4), shares.take("a 3", 20)]).toEqual([true, true]);
});
