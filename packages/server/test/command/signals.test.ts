import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { type StopSignal, waitForStop } from "../../src/command/signals.ts";

/** A process with a clock that the test moves. */
class FakeProcess extends EventEmitter {
  nowMs = 5_000;
  readonly exitCodes: number[] = [];

  exit(code: number): void {
    this.exitCodes.push(code);
  }

  wait(): Promise<StopSignal> {
    return waitForStop(this, () => this.nowMs);
  }

  send(signal: StopSignal, afterMs: number): void {
    this.nowMs += afterMs;
    this.emit(signal, signal);
  }
}

test("the first signal requests a stop and does not exit", async () => {
  const fake = new FakeProcess();
  const stop = fake.wait();
  fake.send("SIGTERM", 0);
  expect(await stop).toBe("SIGTERM");
  expect(fake.exitCodes).toEqual([]);
});

test("signals within a second of the first are part of it", async () => {
  const fake = new FakeProcess();
  const stop = fake.wait();
  fake.send("SIGINT", 0);
  fake.send("SIGINT", 10);
  fake.send("SIGTERM", 989);
  expect(await stop).toBe("SIGINT");
  expect(fake.exitCodes).toEqual([]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("a %s a second later exits with %i", (signal, code) => {
  const fake = new FakeProcess();
  void fake.wait();
  fake.send("SIGINT", 0);
  fake.send(signal, 1_000);
  expect(fake.exitCodes).toEqual([code]);
});
