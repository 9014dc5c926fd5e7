/**
 * The budget of a statement: time and memory that end.
 */
import { PeerError } from "@bigpeer/protocol";
import { expect, test } from "vitest";
import { ROW_MS_MAX, ROW_STEPS_FREE } from "../../../src/limits.ts";
import { Budget } from "../../../src/query/frame/budget.ts";

function codeOf(work: () => void): string | undefined {
  try {
    work();
  } catch (error) {
    return error instanceof PeerError ? error.code : String(error);
  }
  return undefined;
}

function budgetAt(clock: { now: number }): Budget {
  return new Budget({ elapsed: () => clock.now, timeMsMax: 100, bytesMax: 1000 });
}

test("work continues until the deadline, and stops at the next check", () => {
  const clock = { now: 0 };
  const budget = budgetAt(clock);
  for (let i = 0; i < 10_000; i++) budget.step();
  clock.now = 100;
  let steps = 0;
  const code = codeOf(() => {
    for (; steps < 10_000; steps++) budget.step();
  });
  expect(code).toBe("query.timeout");
  expect(steps).toBeLessThan(1000);
});

test("a large step is checked at once", () => {
  const clock = { now: 100 };
  const budget = budgetAt(clock);
  clock.now = 200;
  expect(codeOf(() => budget.step(1_000_000))).toBe("query.timeout");
});

test("taken memory stays taken", () => {
  const budget = budgetAt({ now: 0 });
  budget.take(600);
  budget.take(400);
  expect(codeOf(() => budget.take(1))).toBe("query.too_large");
});

test("memory that a row borrowed is freed when the row is done", () => {
  const budget = budgetAt({ now: 0 });
  budget.take(400);
  for (let row = 0; row < 10; row++) {
    budget.borrow(300);
    budget.borrow(300);
    budget.startRow();
  }
  budget.borrow(600);
  expect(codeOf(() => budget.borrow(1))).toBe("query.too_large");
});

test("a statement that starts over has its whole memory again", () => {
  const budget = budgetAt({ now: 0 });
  budget.take(1000);
  budget.release();
  expect(codeOf(() => budget.take(1000))).toBeUndefined();
});

test("a cancelled budget fails with the first reason given", () => {
  const budget = budgetAt({ now: 0 });
  budget.cancel("enough");
  budget.cancel("again");
  expect(() => budget.look()).toThrow("enough");
});

test("[P9] one row has a shorter time limit than the statement, from the first check in it", () => {
  const clock = { now: 0 };
  const budget = new Budget({ elapsed: () => clock.now, timeMsMax: 100_000, bytesMax: 1000 });
  budget.startRow();
  clock.now = 5000;
  budget.step(ROW_STEPS_FREE + 1);
  clock.now = 5000 + ROW_MS_MAX - 1;
  budget.look();
  clock.now = 5000 + ROW_MS_MAX;
  expect(() => budget.look()).toThrow("the evaluation of one row took longer than 75 ms");
});

test("[P9] a row of few steps does not fail on a machine that stalls, whatever came before it", () => {
  const clock = { now: 0 };
  const budget = new Budget({ elapsed: () => clock.now, timeMsMax: 100_000, bytesMax: 1000 });
  budget.step(10 * ROW_STEPS_FREE);
  budget.startRow();
  budget.look();
  clock.now = 50_000;
  budget.step(ROW_STEPS_FREE);
  expect(() => budget.step(1000)).toThrow("the evaluation of one row took longer than 75 ms");
  budget.startRow();
  const held = budget.hold();
  budget.step(10 * ROW_STEPS_FREE);
  budget.resume(held);
  clock.now = 60_000;
  budget.step(ROW_STEPS_FREE);
  clock.now = 100_000;
  expect(() => budget.look()).toThrow("the statement took longer");
});

test("each row has its own time limit; other work has only that of the statement", () => {
  const clock = { now: 0 };
  const budget = new Budget({ elapsed: () => clock.now, timeMsMax: 100_000, bytesMax: 1000 });
  for (let row = 0; row < 10; row++) {
    budget.startRow();
    budget.step(2 * ROW_STEPS_FREE);
    clock.now += ROW_MS_MAX - 1;
    budget.look();
  }
  budget.endPiece();
  clock.now += 50_000;
  budget.look();
  budget.startPiece();
  budget.step(2 * ROW_STEPS_FREE);
  clock.now += ROW_MS_MAX;
  expect(codeOf(() => budget.look())).toBe("query.timeout");
  budget.release();
  expect(codeOf(() => budget.look())).toBeUndefined();
});

test("memory that a row borrowed stays counted while rows of another kind are processed", () => {
  const clock = { now: 0 };
  const budget = budgetAt(clock);
  budget.borrow(600);
  const held = budget.hold();
  budget.startRow();
  expect(() => budget.borrow(600)).toThrow(/1000 bytes/);
  budget.startRow();
  budget.borrow(300);
  budget.resume(held);
  budget.borrow(300);
  expect(() => budget.borrow(200)).toThrow(/1000 bytes/);
  budget.startRow();
  budget.take(900);
  expect(budget.taken).toBe(900);
  budget.give(900);
  budget.take(900);
});

test("a row that was suspended continues with its own time", () => {
  const clock = { now: 0 };
  const budget = new Budget({ elapsed: () => clock.now, timeMsMax: 100_000, bytesMax: 1000 });
  budget.startRow();
  budget.step(2 * ROW_STEPS_FREE);
  const held = budget.hold();
  clock.now = ROW_MS_MAX * 2;
  budget.look();
  budget.resume(held);
  expect(() => budget.look()).toThrow(/one row/);
  budget.startPiece();
  budget.look();
});
