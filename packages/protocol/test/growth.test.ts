/** The judge of growth finds planted loops, and lets their linear twins pass. */
import { expect, test } from "vitest";
import { findGrowthFault, findGrowthFaults, growthFault, turnFault } from "./support/growth.ts";
import {
  distinctByList,
  growingTurns,
  readDigits,
  rereadDigits,
  searchAgain,
  shiftAll,
} from "./support/planted-loop.ts";
import { countSteps } from "./support/step-count.ts";

const fraction = (size: number): string => `0.${"3".repeat(size)}`;
const numbers = (size: number): number[] => Array.from({ length: size }, (_, i) => i);

test("a loop counts as many steps as it has iterations", async () => {
  const text = "a".repeat(10_000);
  const steps = await countSteps(() => readDigits(text));
  expect(steps).toBeGreaterThan(10_000);
  expect(steps).toBeLessThan(40_000);
});

test("linear work, and work without any steps, passes", async () => {
  expect(growthFault([1, 2, 4, 8].map((size) => ({ size, steps: 1000 + size * 500 })))).toBe(
    undefined,
  );
  expect(growthFault([1, 2, 4, 8].map((size) => ({ size, steps: 7 })))).toBe(undefined);
  const make = (size: number): string => "a1".repeat(size);
  expect(await findGrowthFault({ make, run: readDigits, size: 1_000 })).toBe(undefined);
});

test("work that changes its method at some size passes", () => {
  const steps = [100, 200, 40_000, 80_000];
  expect(growthFault(steps.map((each, i) => ({ size: 2 ** i, steps: each })))).toBe(undefined);
  const quadratic = [10_000, 40_000, 160_000, 640_000];
  expect(growthFault(quadratic.map((each, i) => ({ size: 2 ** i, steps: each })))).toBeDefined();
});

test("a planted loop that rereads digits is found", async () => {
  const found = await findGrowthFault({ make: fraction, run: rereadDigits, size: 1_000 });
  expect(found).toMatch(/expected steps that grow as the input does, found \d+ for 1000/);
});

test("a planted search that rescans the rest is found", async () => {
  const make = (size: number): string => "<".repeat(size);
  expect(await findGrowthFault({ make, run: searchAgain, size: 1_000 })).toBeDefined();
});

test("planted lists that are used as a queue and as a set are found", async () => {
  const queue = { make: numbers, run: shiftAll, size: 1_000 };
  expect(await findGrowthFault(queue)).toBeDefined();
  const set = { make: numbers, run: distinctByList, size: 1_000 };
  expect(await findGrowthFault(set)).toBeDefined();
});

test("of many shapes, the slow one is named", async () => {
  const shapes = {
    letters: (size: number) => "a".repeat(size),
    digits: fraction,
    pairs: (size: number) => "a1".repeat(size / 2),
  };
  expect(Object.keys(await findGrowthFaults(shapes, rereadDigits, 1_000))).toEqual(["digits"]);
  expect(await findGrowthFaults(shapes, readDigits, 1_000)).toEqual({});
});

test("work that throws is counted up to the error", async () => {
  const run = (text: string): never => {
    rereadDigits(text);
    throw new Error("refused");
  };
  expect(await findGrowthFault({ make: fraction, run, size: 1_000 })).toBeDefined();
});

test("slices that grow are found", () => {
  expect(turnFault(growingTurns(10), 2_000)).toBe(undefined);
  expect(turnFault(growingTurns(100), 2_000)).toMatch(/expected turns of at most 2000 steps/);
});
