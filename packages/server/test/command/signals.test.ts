/**
 * What SIGINT and SIGTERM do: the first, one that comes twice, and a later one.
 */

import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { type StopSignal, StopSignals } from "../../src/command/signals.ts";

/** A process with a clock that the test moves. */
class FakeProcess extends EventEmitter {
  nowMs = 5_000;
  readonly exitCodes: number[] = [];
  readonly signals: StopSignals = new StopSignals(this, () => this.nowMs);

  exit(code: number): void {
    this.exitCodes.push(code);
  }

  send(signal: StopSignal, afterMs: number): void {
    this.nowMs += afterMs;
    this.emit(signal, signal);
  }
}

/** Longer than any test. */
const LONG_MS = 3_600_000;

test("the first signal requests a stop and does not exit", async () => {
  const fake = new FakeProcess();
  fake.send("SIGTERM", 0);
  expect(await fake.signals.first).toBe("SIGTERM");
  expect(fake.exitCodes).toEqual([]);
});

test("signals within a second of the first are part of it", async () => {
  const fake = new FakeProcess();
  fake.send("SIGINT", 0);
  fake.send("SIGINT", 10);
  fake.send("SIGTERM", 989);
  expect(await fake.signals.first).toBe("SIGINT");
  expect(fake.exitCodes).toEqual([]);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("a %s a second later exits with %i", (signal, code) => {
  const fake = new FakeProcess();
  fake.send("SIGINT", 0);
  fake.send(signal, 1_000);
  expect(fake.exitCodes).toEqual([code]);
});

test("a signal during the delay ends the delay, and one a second later exits", async () => {
  const fake = new FakeProcess();
  fake.send("SIGTERM", 0);
  const delay = fake.signals.delay(LONG_MS);
  fake.send("SIGTERM", 999);
  fake.send("SIGTERM", 1);
  // The same keystroke again.
  fake.send("SIGTERM", 10);
  await delay;
  expect(fake.exitCodes).toEqual([]);
  fake.send("SIGTERM", 1_000);
  expect(fake.exitCodes).toEqual([143]);
});

test("a delay of zero and one that is over leave the next signal to end the process", async () => {
  const fake = new FakeProcess();
  fake.send("SIGTERM", 0);
  await fake.signals.delay(0);
  await fake.signals.delay(1);
  fake.send("SIGINT", 1_000);
  expect(fake.exitCodes).toEqual([130]);
});
