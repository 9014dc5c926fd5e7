import { expect, test } from "vitest";
import { noteOperations } from "../../src/registry/known-nodes.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

function changes(
  known: { [node: string]: number },
  alive: readonly string[],
  nowMs: number,
): string[] {
  const list = Object.entries(known).map(([node, seenAt]) => ({ node, seenAt }));
  return noteOperations(list, alive, { nowMs, awayMs: DAY_MS }).map((operation) => {
    const id = "id" in operation ? operation.id : undefined;
    return `${operation.kind} ${typeof id === "string" ? id : ""}`;
  });
}

test("a new node is recorded at once, and a known one every hour", () => {
  expect(changes({}, ["a"], DAY_MS)).toEqual(["insert a"]);
  expect(changes({ a: DAY_MS }, ["a"], DAY_MS + HOUR_MS - 1)).toEqual([]);
  expect(changes({ a: DAY_MS }, ["a"], DAY_MS + HOUR_MS)).toEqual(["insert a"]);
});

test("a node is forgotten when it was away for the time", () => {
  expect(changes({ a: 0, b: 1 }, [], DAY_MS)).toEqual(["delete a"]);
  expect(changes({ a: 0 }, ["a"], DAY_MS)).toEqual(["insert a"]);
});
