/** What values are charged for: no less than what the host takes for them. */

import { expect, test } from "vitest";
import { memorySize } from "../../../src/query/value/memory-size.ts";

test("objects and arrays are charged for their allocated memory, not for their entries alone", () => {
  // As measured on Node 20: a list that grows begins with room for seventeen elements.
  expect(memorySize({})).toBeGreaterThanOrEqual(56);
  expect(memorySize([1])).toBeGreaterThanOrEqual(184);
  expect(memorySize({ a: 1, b: [1, 2], c: {} })).toBeGreaterThanOrEqual(294);
});

test("larger values are charged more", () => {
  const few = memorySize({ a: ["x"] });
  expect(memorySize({ a: ["x", "y"] })).toBeGreaterThan(few);
  expect(memorySize({ a: ["xx"] })).toBe(few + 2);
});
