import { expect, test } from "vitest";
import { nodePlatform } from "../src/node-platform.ts";

test("the clock for elapsed time never goes back", () => {
  const first = nodePlatform.elapsed();
  expect(nodePlatform.elapsed()).toBeGreaterThanOrEqual(first);
});

test("patterns have the flags of the engine", () => {
  expect(nodePlatform.pattern("B", "i")?.isFoundIn("abc", () => undefined)).toBe(true);
  expect(nodePlatform.pattern("(", "")).toBeUndefined();
});
