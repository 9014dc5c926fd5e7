/** Shares: what one owner may have, and that nothing stays of whoever has nothing. */

import { expect, test } from "vitest";
import { Shares } from "../src/shares.ts";

test("[H45] one owner has a part of all, and others find the rest", () => {
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

test("a room of an owner is a part of the shares", () => {
  const shares = new Shares({ max: 10, perOwnerMax: 6 });
  const room = shares.roomOf("a");
  expect([room.take(6), room.take(1), shares.takenBy("a")]).toEqual([true, false, 6]);
  room.give(6);
  expect(shares.taken).toBe(0);
});
