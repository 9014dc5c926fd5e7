/**
 * Waiting callers: answered as their requests are, or before.
 */

import { expect, test } from "vitest";
import { WaitingCallers } from "../../src/store/waiting-callers.ts";

test("a caller gets the outcome of its request, and is forgotten", async () => {
  const callers = new WaitingCallers();
  const done = callers.answered(Promise.resolve(1));
  const failed = callers.answered(Promise.reject(new Error("full")));
  expect(callers.count).toBe(2);
  expect(await done).toBe(1);
  await expect(failed).rejects.toThrow("full");
  await Promise.resolve();
  expect(callers.count).toBe(0);
});

test("callers that wait are released with an error, those that come later wait again", async () => {
  const callers = new WaitingCallers();
  let finish: (value: number) => void = () => {};
  const work = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const early = callers.answered(work);
  callers.release();
  await expect(early).rejects.toMatchObject({ code: "cluster.unanswered" });
  expect(callers.count).toBe(0);
  const late = callers.answered(work);
  finish(7);
  expect(await late).toBe(7);
});
