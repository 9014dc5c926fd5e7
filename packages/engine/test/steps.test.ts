import { expect, test } from "vitest";
import { finish, StepClock, type Steps, waitFor } from "../src/steps.ts";

test("[K34] a step clock stops between two steps", () => {
  let ms = 0;
  const clock = new StepClock(() => ms);
  const seen: number[] = [];
  function* work(): Steps<string> {
    for (let i = 0; i < 3; i++) {
      ms += 10;
      seen.push(clock.now());
      yield;
    }
    return "done";
  }
  const steps = clock.time(work());
  for (let i = 0; i < 3; i++) {
    steps.next();
    ms += 1000;
  }
  expect(clock.now()).toBe(30);
  expect(finish(steps)).toBe("done");
  expect(seen).toEqual([10, 20, 30]);
  finish(clock.time(work()));
  expect(clock.now()).toBe(60);
});

test("[K34] an error of a step is passed on, and its time counts", () => {
  let ms = 0;
  const clock = new StepClock(() => ms);
  // oxlint-disable-next-line require-yield -- it ends before
  function* failing(): Steps<void> {
    ms += 5;
    throw new Error("no");
  }
  expect(() => finish(clock.time(failing()))).toThrow("no");
  expect(clock.now()).toBe(5);
});

test("steps that wait for a promise have its outcome, and cannot run without a pause", async () => {
  const good = waitFor(Promise.resolve(7));
  const bad = waitFor(Promise.reject(new Error("no")));
  expect(good.next().done).toBe(false);
  expect(bad.next().done).toBe(false);
  await Promise.resolve();
  expect(good.next()).toEqual({ done: true, value: 7 });
  expect(() => bad.next()).toThrow("no");
  expect(() => finish(waitFor(Promise.resolve()))).toThrow("steps that wait for nothing");
});
