/**
 * When an address is called again: on a clock that the test moves.
 */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LinkDialler } from "../../src/link/link-dialler.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

interface Calls {
  readonly dialler: LinkDialler;
  /** When it was called, since the beginning. */
  readonly times: number[];
}

function dialler(chance = 0.5): Calls {
  const start = Date.now();
  const times: number[] = [];
  const made = new LinkDialler({
    address: "north:4040",
    now: () => Date.now(),
    chance: () => chance,
    dial: () => void times.push(Date.now() - start),
  });
  return { dialler: made, times };
}

const UNREACHABLE = { code: "unreachable", message: "the other Big Peer does not answer" };

/** Lets it fail `count` times, each at once, and returns the waits between. */
function waitsOf({ dialler: made, times }: Calls, count: number): number[] {
  vi.advanceTimersByTime(0);
  for (let i = 0; i < count; i++) {
    made.ended(UNREACHABLE);
    vi.advanceTimersByTime((made.nextMs ?? 0) - Date.now());
  }
  return times.slice(1).map((time, i) => time - (times[i] ?? 0));
}

test("[S47] an address is dialled at once, then after times that double from 0.5 s to 60 s, for ever", () => {
  // The middle of each span between its half and its whole.
  const spans = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000];
  expect(waitsOf(dialler(), 10)).toEqual(spans.map((span) => span * 0.75));
  expect(waitsOf(dialler(), 200).at(-1)).toBe(45_000);
});

test("the times are spread between half of the span and the whole span", () => {
  expect(waitsOf(dialler(0), 3)).toEqual([250, 500, 1_000]);
  expect(waitsOf(dialler(0.998), 3)).toEqual([500, 999, 1_998]);
});

test("a link that lasted resets the times, one that ended within a second does not", () => {
  const calls = dialler();
  waitsOf(calls, 5);
  calls.dialler.up();
  vi.advanceTimersByTime(999);
  calls.dialler.ended({ code: "lost", message: "" });
  expect((calls.dialler.nextMs ?? 0) - Date.now()).toBe(12_000);
  vi.advanceTimersByTime(12_000);
  calls.dialler.up();
  vi.advanceTimersByTime(1_000);
  calls.dialler.ended({ code: "lost", message: "" });
  expect(calls.dialler.nextMs).toBe(Date.now());
});

test.each(["unauthorized", "version", "duplicate"])(
  "[S84] after %s the dialler retries at the slowest rate, even if the link had lasted",
  (code) => {
    const { dialler: made } = dialler();
    vi.advanceTimersByTime(0);
    made.up();
    vi.advanceTimersByTime(5_000);
    made.ended({ code, message: "" });
    expect((made.nextMs ?? 0) - Date.now()).toBe(45_000);
  },
);

test("a link that one side ended as malformed is not dialled again at once", () => {
  const { dialler: made } = dialler();
  vi.advanceTimersByTime(0);
  made.up();
  vi.advanceTimersByTime(60_000);
  made.ended({ code: "malformed", message: "" });
  expect((made.nextMs ?? 0) - Date.now()).toBe(375);
});

test("the other side may ask for more time, up to ten minutes", () => {
  const { dialler: made } = dialler();
  vi.advanceTimersByTime(0);
  made.ended({ ...UNREACHABLE, afterMs: 20_000 });
  expect((made.nextMs ?? 0) - Date.now()).toBe(20_000);
  vi.advanceTimersByTime(20_000);
  made.ended({ ...UNREACHABLE, afterMs: 1e12 });
  expect((made.nextMs ?? 0) - Date.now()).toBe(600_000);
});

test("a waiting dialler can be hurried, and a stopped one does not dial", () => {
  const { dialler: made, times } = dialler();
  made.hurry();
  vi.advanceTimersByTime(0);
  expect([made.state, times]).toEqual(["connecting", [0]]);
  made.hurry();
  vi.advanceTimersByTime(100_000);
  expect(times).toEqual([0]);
  made.ended({ code: "unauthorized", message: "" });
  expect(made.state).toBe("waiting");
  made.hurry();
  vi.advanceTimersByTime(0);
  expect(times).toEqual([0, 100_000]);
  made.ended(UNREACHABLE);
  made.stop();
  made.hurry();
  vi.advanceTimersByTime(1_000_000);
  expect(times).toEqual([0, 100_000]);
  expect(made.nextMs).toBe(undefined);
});
