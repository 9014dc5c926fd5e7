/**
 * Date and duration functions: which arguments they take, what kind of result they give, what fails.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import { DATE_FUNCTIONS } from "../../../src/query/functions/date.ts";
import { type Datum, Failure, Float, MISSING } from "../../../src/query/value/datum.ts";
import { call, callFunction, reasonOf, testRun } from "../../support/function-call.ts";
import { START_MS } from "../../support/test-platform.ts";

const TEXT = "2024-05-17T08:09:10.123+02:00";
const MS = 1_715_926_150_123;

test("now is the start time of the statement, as text", () => {
  expect(call("now")).toBe("2026-01-01T00:00:00+00:00");
});

test("clock is the start time of the statement, as a number or in a given format and zone", () => {
  expect(call("clock")).toBe(START_MS);
  expect(call("clock", "")).toBe("2026-01-01T00:00:00+00:00");
  expect(call("clock", "%Y")).toBe("2026");
  expect(call("clock", "YYYY-MM-DD hh:mm", "Asia/Tokyo")).toBe("2026-01-01 09:00");
  expect(call("clock", "", "-05:00")).toBe("2025-12-31T19:00:00-05:00");
  expect(call("clock", null)).toBeNull();
  expect(reasonOf(call("clock", 1))).toBe("expected a date format");
});

test("date_cast gives milliseconds: of text, of milliseconds, and of seconds as a float", () => {
  expect(call("date_cast", TEXT)).toBe(MS);
  expect(call("date_cast", MS)).toBe(MS);
  expect(call("date_cast", -1)).toBe(-1);
  expect(call("date_cast", 1.5)).toBe(1500);
  expect(call("date_cast", new Float(2))).toBe(2000);
  expect(call("date_cast", 1.005)).toBe(1005);
  expect(call("date_cast", -0.5)).toBe(-500);
  expect(call("date_cast", "1969-12-31T23:59:59.9999Z")).toBe(-1);
  expect(Object.is(call("date_cast", -0), 0)).toBe(true);
});

test("date_cast parses text with its format; a number needs no format", () => {
  expect(call("date_cast", "15/03/2026", "%d/%m/%Y")).toBe(1_773_532_800_000);
  expect(call("date_cast", "2024-05-17", "YYYY-MM-DD")).toBe(1_715_904_000_000);
  expect(call("date_cast", TEXT, "")).toBe(MS);
  expect(call("date_cast", MS, "string")).toBe(MS);
  expect(reasonOf(call("date_cast", TEXT, "bogus"))).toBe("expected a text as the format says");
  expect(reasonOf(call("date_cast", TEXT, "%Q"))).toBe("expected a date format");
});

test("a value that is not a date, or is outside the range of time, fails", () => {
  for (const datum of ["junk", "2024-05-17", "", true, [1], { a: 1 }, new Uint8Array(1)]) {
    expect(reasonOf(call("date_cast", datum))).toContain("expected a date");
  }
  for (const datum of [8.64e15 + 1, 2n ** 63n, -(2n ** 63n), 1e300, NaN, Infinity]) {
    expect(call("date_part", datum, "year"), String(datum)).toBeInstanceOf(Failure);
  }
  expect(call("date_part", 8.64e15, "year")).toBe(275_760);
});

test("results are text at the offset of the date, or milliseconds", () => {
  expect(call("date_add", TEXT, "day", 1)).toBe("2024-05-18T08:09:10.123+02:00");
  expect(call("date_add", MS, "day", 1)).toBe(MS + 86_400_000);
  expect(call("date_add", 1.5, "second", 1)).toBe(2500);
  expect(call("date_add", new Float(1), "millisecond", 500)).toBe(1500);
  expect(call("date_trunc", TEXT, "day")).toBe("2024-05-17T00:00:00+02:00");
  expect(call("date_trunc", MS, "year")).toBe(1_704_067_200_000);
});

test("with a format the result is text, with a zone it is the local time there", () => {
  expect(call("date_add", MS, "day", 1, "%d/%m/%Y")).toBe("18/05/2024");
  expect(call("date_sub", TEXT, "hour", 8, "%F %R", "UTC")).toBe("2024-05-16 22:09");
  expect(call("date_format", TEXT, "%H:%M")).toBe("08:09");
  expect(call("date_format", TEXT, "hh:mm TZD", "Asia/Tokyo")).toBe("15:09 +0900");
  expect(reasonOf(call("date_format", TEXT, "%H", "Nowhere/Bogus"))).toContain("a time zone");
  expect(call("date_format", TEXT, "hh:mm", 540)).toBe("15:09");
  expect(reasonOf(call("date_format", TEXT, "%H", 24 * 60))).toContain("expected a time zone");
});

test("date_format checks the date before a null format", () => {
  expect(call("date_format", "2024-05-17", null)).toBeInstanceOf(Failure);
  expect(call("date_format", TEXT, null)).toBeNull();
  expect(call("date_format", TEXT, "%Y", null)).toBeNull();
  expect(call("date_format", null, "%Y")).toBeNull();
  expect(call("date_format", MISSING, null)).toBe(MISSING);
});

test("only whole units are added, and they must be a number", () => {
  expect(call("date_add", 0, "day", 1.9)).toBe(86_400_000);
  expect(call("date_add", 0, "day", new Float(-1))).toBe(-86_400_000);
  for (const count of ["1", true, 2n ** 63n, NaN, Infinity]) {
    expect(reasonOf(call("date_add", 0, "day", count))).toBe("expected a whole number of units");
  }
  expect(reasonOf(call("date_add", 0, "year", 1e9))).toContain("within the years");
  expect(reasonOf(call("date_add", 0, "week", 1))).toContain("expected a unit");
});

test("date_diff counts whole units from the second date to the first", () => {
  expect(call("date_diff", "2026-03-20T00:00:00Z", "2026-03-15T10:30:45Z", "day")).toBe(4);
  expect(call("date_diff", 0, TEXT, "millisecond")).toBe(-MS);
  expect(call("date_diff", 8.64e15, -8.64e15, "ms")).toBeInstanceOf(Failure);
  expect(call("date_diff", 8.64e15, -8.64e15, "second")).toBe(17_280_000_000_000);
  expect(reasonOf(call("date_diff", 0, 0, "weekday"))).toContain("expected a unit");
});

test("date_part has the units, the day of the week, the name of the month and the offset", () => {
  const parts = ["year", "month", "day", "hour", "minute", "second", "ms"];
  expect(parts.map((part) => call("date_part", TEXT, part))).toEqual([2024, 5, 17, 8, 9, 10, 123]);
  expect(call("date_part", "2024-03-10T00:00:00Z", "weekday")).toBe(7);
  expect(call("date_part", TEXT, "monthname")).toBe("May");
  expect(call("date_part", TEXT, "tz")).toBe("+02:00");
  expect(call("date_part", MS, "timezone")).toBe("UTC");
  for (const part of ["quarter", "week", "dow", "YEAR", "", 1, "toString"]) {
    expect(reasonOf(call("date_part", TEXT, part))).toContain("expected a unit, weekday");
  }
});

test("date_range includes its start and excludes its end", () => {
  expect(call("date_range", 0, 172_800_000, "day", 1)).toEqual([0, 86_400_000]);
  expect(call("date_range", 0, 172_800_001, "day", 1)).toEqual([0, 86_400_000, 172_800_000]);
  expect(call("date_range", 5, 5, "day", 1)).toEqual([5]);
  expect(call("date_range", 5, 0, "day", 1)).toEqual([5]);
  expect(call("date_range", 0, 172_800_000, "day", 1, "%F")).toEqual(["1970-01-01", "1970-01-02"]);
  expect(call("date_range", "2024-01-01T00:00:00+02:00", "2024-01-02T01:00:00Z", "day", 1)).toEqual(
    ["2024-01-01T00:00:00+02:00", "2024-01-02T00:00:00+02:00"],
  );
});

test("date_range goes backwards with a negative step, and is empty with a step of 0", () => {
  expect(call("date_range", 172_800_000, 0, "day", -1)).toEqual([172_800_000, 86_400_000]);
  expect(call("date_range", 0, 172_800_000, "day", -1)).toEqual([0]);
  for (const step of [0, 0.5, -0.5]) {
    expect(reasonOf(call("date_range", 0, 10, "ms", step))).toContain("expected a step");
  }
});

test("a step of months counts from the previous date", () => {
  const start = "2024-01-31T00:00:00Z";
  expect(call("date_range", start, "2024-04-01T00:00:00Z", "month", 1, "%d.%m.")).toEqual([
    "31.01.",
    "29.02.",
    "29.03.",
  ]);
});

test("date_range ends at the end of the range of time", () => {
  expect(call("date_range", 8.64e15 - 1, 8.64e15, "ms", 2)).toEqual([8.64e15 - 1]);
  expect(call("date_range", -8.64e15, -8.64e15 + 5, "year", -1)).toEqual([-8.64e15]);
});

test("a range that is too long is stopped by the memory or time limit", () => {
  const args = [0, 8.64e15, "ms", 1];
  expect(() => callFunction("date_range", args, testRun({ bytesMax: 1e6 }))).toThrow(
    expect.objectContaining({ code: "query.too_large" }),
  );
  expect(() =>
    callFunction("date_range", args, testRun({ bytesMax: 1e12, timeMsMax: 10, msPerLook: 1 })),
  ).toThrow(expect.objectContaining({ code: "query.timeout" }));
});

test("the memory of short ranges in many rows does not add up", () => {
  const run = testRun({ bytesMax: 10_000 });
  for (let row = 0; row < 1000; row++) callFunction("date_range", [0, 7, "ms", 1], run);
  expect(callFunction("date_range", [0, 2, "ms", 1], run)).toEqual([0, 1]);
});

test("tz_offset returns minutes, for a date or a text parsed with a format", () => {
  expect(call("tz_offset", TEXT)).toBe(120);
  expect(call("tz_offset", "2024-05-17T08:09:10-03:30")).toBe(-210);
  expect(call("tz_offset", "Asia/Tokyo", "TZN")).toBe(540);
  expect(call("tz_offset", "2024-07-01 Europe/Paris", "YYYY-MM-DD TZN")).toBe(120);
  for (const args of [[5], ["Asia/Tokyo"], ["Nowhere/Bogus", "TZN"], ["Asia/Tokyo", TEXT]]) {
    expect(callFunction("tz_offset", args)).toBeInstanceOf(Failure);
  }
});

test("durations are milliseconds, or another unit of seconds and below", () => {
  expect(call("duration_cast", "1h30m")).toBe(5_400_000);
  expect(call("duration_cast", "1h30m", "second")).toEqual(new Float(5400));
  expect(call("duration_cast", "0.0000015", "us")).toBe(1);
  expect(call("duration_cast", `${"9".repeat(17)}h`)).toBeInstanceOf(Failure);
  expect(call("duration_format", 5_400_000)).toBe("1h30m0s");
  expect(call("duration_format", 61.5)).toBe("1m1.5s");
  expect(call("duration_format", new Float(2), "second")).toBe("2s");
  expect(call("duration_format", -1)).toBe("-0.001s");
  for (const [name, ...args] of [
    ["duration_cast", 5],
    ["duration_cast", "junk"],
    ["duration_cast", "1h", "hour"],
    ["duration_format", "1h"],
    ["duration_format", NaN],
    ["duration_format", 1, "year"],
    ["duration_format", 1, 2],
  ] as const) {
    expect(callFunction(name, args), name).toBeInstanceOf(Failure);
  }
});

test("null gives null and MISSING gives MISSING, for every function and argument", () => {
  for (const { name, arity } of DATE_FUNCTIONS) {
    const [least] = arity;
    for (let place = 0; place < least; place++) {
      const dates = name === "date_diff" || name === "date_range" ? [TEXT, TEXT] : [TEXT];
      const plain: Datum[] = [...dates, "day", 1].slice(0, least);
      expect(callFunction(name, plain.with(place, MISSING)), name).toBe(MISSING);
      expect(callFunction(name, plain.with(place, null)), name).toBeNull();
    }
  }
});

test("any arguments give a result or a failure, never an exception", () => {
  const anyDatum: fc.Arbitrary<Datum> = fc.oneof(
    fc.constantFrom<Datum>(
      TEXT,
      MS,
      "day",
      "month",
      "%F",
      "",
      "UTC",
      "1h",
      1,
      -1,
      0,
      null,
      MISSING,
    ),
    fc.double(),
    fc.integer(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.string(),
    fc.boolean(),
    fc.constant([]),
    fc.constant({}),
  );
  const arbitraries = DATE_FUNCTIONS.map((spec) =>
    fc.tuple(
      fc.constant(spec.name),
      fc.array(anyDatum, { minLength: spec.arity[0], maxLength: spec.arity[1] }),
    ),
  );
  fc.assert(
    fc.property(fc.oneof(...arbitraries), ([name, args]) => {
      const run = testRun({ bytesMax: 100_000 });
      try {
        callFunction(name, args, run);
      } catch (error) {
        expect(error).toMatchObject({ code: "query.too_large" });
      }
    }),
    { numRuns: runs(3000) },
  );
});
