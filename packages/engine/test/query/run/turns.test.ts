/**
 * Turns: one slice after the other, and a pause between any two.
 */
import { expect, test } from "vitest";
import { Turns } from "../../../src/query/run/turns.ts";

test("those that wait go one after the other in the order in which they came, each after a pause", async () => {
  const events: string[] = [];
  const turns = new Turns(async () => {
    await Promise.resolve();
    events.push("pause");
  });
  const read = async (name: string, slices: number): Promise<void> => {
    for (let i = 1; i <= slices; i++) {
      await turns.wait();
      events.push(`${name}${i}`);
    }
  };
  await Promise.all([read("a", 2), read("b", 2), read("c", 1)]);
  expect(events).toEqual([
    "pause",
    "a1",
    "pause",
    "b1",
    "pause",
    "c1",
    "pause",
    "a2",
    "pause",
    "b2",
  ]);
  await read("d", 1);
  expect(events.slice(-2)).toEqual(["pause", "d1"]);
});
