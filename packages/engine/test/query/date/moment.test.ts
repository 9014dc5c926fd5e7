/**
 * Moments: adding, cutting off, counting what lies between.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatIso } from "../../../src/query/date/date-format.ts";
import { parseIso } from "../../../src/query/date/date-parse.ts";
import {
  civilOf,
  difference,
  findUnit,
  isBefore,
  isInTime,
  localMsOf,
  type Moment,
  shift,
  truncate,
  type Unit,
} from "../../../src/query/date/moment.ts";

const UNITS: readonly Unit[] = ["year", "month", "day", "hour", "minute", "second", "millisecond"];

const anyMoment: fc.Arbitrary<Moment> = fc.record({
  ms: fc.integer({ min: -4e12, max: 4e12 }),
  nanos: fc.integer({ min: 0, max: 999_999 }),
  offset: fc.integer({ min: -1439, max: 1439 }),
});

function moment(text: string): Moment {
  const found = parseIso(text);
  if (found === undefined) throw new Error(`expected a date, found ${text}`);
  return found;
}

function shifted(text: string, unit: Unit, count: number): string | undefined {
  const found = shift(moment(text), unit, count);
  return found && formatIso(found);
}

test("units have short names and plurals, in lower case only", () => {
  expect(["year", "years", "mon", "months", "min", "sec", "ms", "millis"].map(findUnit)).toEqual([
    "year",
    "year",
    "month",
    "month",
    "minute",
    "second",
    "millisecond",
    "millisecond",
  ]);
  for (const name of ["Year", "week", "quarter", "", "constructor", "__proto__"]) {
    expect(findUnit(name), name).toBeUndefined();
  }
});

test("a day that its month does not have becomes the last day of the month", () => {
  expect(shifted("2024-01-31T00:00:00Z", "month", 1)).toBe("2024-02-29T00:00:00+00:00");
  expect(shifted("2024-02-29T00:00:00Z", "year", 1)).toBe("2025-02-28T00:00:00+00:00");
  expect(shifted("2024-03-31T00:00:00Z", "month", -13)).toBe("2023-02-28T00:00:00+00:00");
});

test("months and years are counted in local time, not in UTC", () => {
  expect(shifted("2024-01-31T23:30:00-05:00", "month", 1)).toBe("2024-02-29T23:30:00-05:00");
  expect(formatIso(truncate(moment("2024-01-01T00:30:00+02:00"), "year") as Moment)).toBe(
    "2024-01-01T00:00:00+02:00",
  );
});

test("a result outside the range of time is not a moment", () => {
  for (const unit of UNITS) {
    for (const count of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      expect(shift({ ms: 0, nanos: 0, offset: 0 }, unit, count)).toBeUndefined();
    }
  }
  const last = { ms: 8.64e15, nanos: 0, offset: 0 };
  expect(shift(last, "millisecond", 1)).toBeUndefined();
  expect(shift(last, "month", -1)).toBeDefined();
  expect(truncate({ ms: -8.64e15, nanos: 0, offset: 0 }, "year")).toBeUndefined();
  expect([NaN, Infinity, 1.5, 8.64e15 + 1].map(isInTime)).toEqual([false, false, false, false]);
});

test("a moment shown at an offset is the original moment", () => {
  fc.assert(
    fc.property(anyMoment, (each) => {
      expect(localMsOf(civilOf(each)) - each.offset * 60_000).toBe(each.ms);
    }),
  );
});

test("a truncated moment is not later, is in the same unit, and truncates to itself", () => {
  fc.assert(
    fc.property(anyMoment, fc.constantFrom(...UNITS), (each, unit) => {
      const cut = truncate(each, unit) as Moment;
      expect(isBefore(each, cut)).toBe(false);
      expect(truncate(cut, unit)).toEqual(cut);
      const next = shift(cut, unit, 1) as Moment;
      expect(isBefore(each, next)).toBe(true);
      expect(cut.nanos).toBe(0);
    }),
  );
});

test("a shift by a number of units gives a difference of that number", () => {
  fc.assert(
    fc.property(
      anyMoment,
      fc.constantFrom(...UNITS),
      fc.integer({ min: -5000, max: 5000 }),
      (any, unit, count) => {
        // Months are added at the offset of a moment and counted at UTC: the law is of moments at UTC.
        const each = unit === "year" || unit === "month" ? { ...any, offset: 0 } : any;
        const later = shift(each, unit, count) as Moment;
        expect(difference(later, each, unit)).toBe(count);
        expect(difference(each, later, unit)).toBe(0 - count);
      },
    ),
  );
});

test("only whole units count, and an empty difference is 0 without a sign", () => {
  const noon = moment("2024-03-10T12:00:00.000000001Z");
  const later = moment("2024-03-10T12:00:01Z");
  expect(difference(later, noon, "millisecond")).toBe(999);
  expect(difference(noon, later, "millisecond")).toBe(-999);
  expect(Object.is(difference(noon, later, "day"), 0)).toBe(true);
  expect(difference(noon, later, "second")).toBe(0);
});

test("differences in years and months use the calendar, at the offset of the first moment", () => {
  const january = moment("2024-01-31T00:00:00Z");
  const march = moment("2024-03-10T00:00:00Z");
  expect(difference(march, january, "month")).toBe(2);
  expect(difference(january, march, "month")).toBe(-2);
  const midnight = moment("2024-01-01T00:00:00+01:00");
  expect(difference(midnight, moment("2023-12-31T23:00:00Z"), "year")).toBe(0);
});
