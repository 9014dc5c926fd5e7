/**
 * The room for bytes that many requests share.
 */

import { expect, test } from "vitest";
import { ByteBudget } from "../../src/limits/byte-budget.ts";

test("taken bytes are given back, and a request that does not fit takes nothing", () => {
  const room = new ByteBudget(100);
  expect(room.take(60)).toBe(true);
  expect(room.take(41)).toBe(false);
  expect(room.take(40)).toBe(true);
  expect(room.take(1)).toBe(false);
  expect(room.size).toBe(100);
  room.give(60);
  expect(room.size).toBe(40);
  expect(room.take(60)).toBe(true);
});
