/**
 * Durations: how they are read and written.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../../src/query/date/duration.ts";

const MS = 1_000_000n;

test("a duration is hours, minutes and seconds in this order, seconds with or without a unit", () => {
  expect(parseDuration("1h30m")).toBe(5_400_000n * MS);
  expect(parseDuration("-90s")).toBe(-90_000n * MS);
  expect(parseDuration("+1m")).toBe(60_000n * MS);
  expect(parseDuration("1m30")).toBe(90_000n * MS);
  expect(parseDuration("1.5")).toBe(1500n * MS);
  expect(parseDuration("1h0m0.0000000019s")).toBe(3_600_000n * MS + 1n);
  for (const text of ["0", "", "-", "+"]) expect(parseDuration(text), text).toBe(0n);
});

test("other texts are not durations", () => {
  for (const text of [
    "h",
    "1.5h",
    "30m1h",
    "1h90m",
    "1h5s",
    "1m60s",
    "1ms",
    "1us",
    "1d",
    "1 h",
    "1h ",
    "1.h",
    ".5h",
    "1h-30m",
    "1hh",
    "-0x",
  ]) {
    expect(parseDuration(text), text).toBeUndefined();
  }
  expect(parseDuration("1h".repeat(1e5))).toBeUndefined();
});

test("a duration is written with hours, minutes and seconds", () => {
  for (const [nanos, text] of [
    [5_400_000n * MS, "1h30m0s"],
    [60_000n * MS, "1m0s"],
    [1500n * MS, "1.5s"],
    [3_600_500n * MS, "1h0m0.5s"],
    [500n * MS, "0.5s"],
    [1_500_000n, "0.0015s"],
    [7n, "0.000000007s"],
    [0n, "0s"],
    [-90_000n * MS, "-1m30s"],
  ] as const) {
    expect(formatDuration(nanos)).toBe(text);
  }
});

test("a formatted duration parses back", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (nanos) => {
      expect(parseDuration(formatDuration(nanos))).toBe(nanos);
    }),
  );
});
