/**
 * The share of the event loop that long work has: one slice for all who work, one after the other.
 */

import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { LoopShare } from "../../src/limits/loop-share.ts";

const LONG_MS = 1e9;

test("all callers that begin in one pass share a slice, and the next pass has another", async () => {
  const share = new LoopShare(LONG_MS);
  const first = share.begin();
  expect([share.begin(), share.hasTime()]).toEqual([first, true]);
  for (let i = 0; i < 3; i++) await setImmediate();
  expect(share.begin()).toBeGreaterThan(first);
});

test("waiting callers have a slice each, one in a pass, in order", async () => {
  const share = new LoopShare(LONG_MS);
  const seen: (readonly [who: number, pass: number])[] = [];
  let pass = 0;
  const waiting = Array.from({ length: 5 }, async (_, who) => {
    for (let i = 0; i < 3; i++) {
      const endMs = await share.turn();
      expect(endMs).toBeLessThanOrEqual(performance.now() + LONG_MS);
      seen.push([who, pass]);
    }
  });
  for (; seen.length < 15; pass++) await setImmediate();
  await Promise.all(waiting);
  expect(seen.map(([who]) => who)).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
  expect(new Set(seen.map(([, at]) => at)).size).toBe(15);
});

test("a caller that arrives while others wait has the rest of their slice, and its grace", async () => {
  const share = new LoopShare(0);
  const working = (async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await share.turn();
  })();
  for (let i = 0; i < 5; i++) await setImmediate();
  expect([share.hasTime(), share.begin(5) <= performance.now()]).toEqual([false, true]);
  await working;
  const long = new LoopShare(LONG_MS);
  const end = long.begin();
  const nowMs = performance.now();
  expect(long.begin(LONG_MS)).toBeGreaterThanOrEqual(Math.max(end, nowMs + LONG_MS));
});

test("immediate work is called in a later pass", async () => {
  const share = new LoopShare(LONG_MS);
  const called: string[] = [];
  share.wait(() => void called.push("a"));
  share.wait(() => void called.push("b"));
  expect(called).toEqual([]);
  await new Promise<void>((resolve) => share.wait(() => resolve()));
  expect(called).toEqual(["a", "b"]);
});
