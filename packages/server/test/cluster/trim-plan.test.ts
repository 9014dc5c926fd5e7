import { expect, test } from "vitest";
import { type NodeProgress, progressOf, trimThrough } from "../../src/cluster/trim-plan.ts";

const bounds = { keptEntries: 10, awayMs: 1_000 };

function at(sequence: number, sinceMs = 0): NodeProgress {
  return { sequence, sinceMs };
}

test("a log is trimmed below what all nodes have, with a margin", () => {
  expect(trimThrough(100, [at(90), at(80)], bounds, 0)).toBe(70);
  expect(trimThrough(60, [at(90), at(80)], bounds, 0)).toBe(50);
});

test("a node that does not have the store holds the whole log", () => {
  expect(trimThrough(100, [at(90), at(0)], bounds, 0)).toBe(0);
});

test("a node without progress holds the log for a time", () => {
  const others = [at(90, 5_000), at(20, 4_000)];
  expect(trimThrough(100, others, bounds, 4_999)).toBe(10);
  expect(trimThrough(100, others, bounds, 5_000)).toBe(80);
});

test("a log is never trimmed to what one node alone has", () => {
  expect(trimThrough(100, [], bounds, 0)).toBe(0);
  expect(trimThrough(100, [at(90), at(20)], bounds, 1_000)).toBe(0);
});

test("the entry at the lowest position stays in the log", () => {
  expect(trimThrough(100, [at(90)], { ...bounds, keptEntries: 0 }, 0)).toBe(89);
});

test("a node makes progress when it moves, or has all that it could have", () => {
  const first = progressOf(undefined, 5, 0, 100);
  expect(first).toEqual(at(5, 100));
  expect(progressOf(first, 6, 9, 200)).toEqual(at(6, 200));
  expect(progressOf(first, 5, 5, 200)).toEqual(at(5, 200));
  expect(progressOf(first, 5, 9, 200)).toEqual(at(5, 100));
});

test("a node that does not answer keeps its position; one that never did has none", () => {
  expect(progressOf(at(5, 100), undefined, 9, 200)).toEqual(at(5, 100));
  expect(progressOf(undefined, undefined, 9, 200)).toEqual(at(0, 200));
});

test("a node that begins again with a copy holds the log at its new position", () => {
  expect(progressOf(at(50, 100), 0, 60, 200)).toEqual(at(0, 100));
});
