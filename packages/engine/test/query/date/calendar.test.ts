/**
 * The calendar against known days, against its own laws, and against the host's calendar.
 */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../protocol/test/support/test-size.ts";
import {
  DAY_MS,
  dateOfDays,
  dayOfYear,
  daysInMonth,
  daysOfDate,
  isLeapYear,
  isoWeekOf,
  modulo,
  weekdayOf,
} from "../../../src/query/date/calendar.ts";

const YEARS_MAX = 400_000;
const anyDays = fc.integer({ min: -YEARS_MAX * 365, max: YEARS_MAX * 365 });

function days(year: number, month: number, day: number): number {
  return daysOfDate({ year, month, day });
}

test("days are counted from 1970-01-01", () => {
  expect(days(1970, 1, 1)).toBe(0);
  expect(days(1969, 12, 31)).toBe(-1);
  expect(days(2000, 2, 29)).toBe(11_016);
  expect(days(2000, 3, 1)).toBe(11_017);
  expect(days(0, 1, 1)).toBe(-719_528);
  expect(days(-1, 12, 31)).toBe(-719_529);
});

test("years divisible by four are leap years, centuries only if divisible by 400", () => {
  for (const year of [2024, 2000, 0, -4, -400]) expect(isLeapYear(year), `${year}`).toBe(true);
  for (const year of [2023, 1900, 2100, -1, -100]) expect(isLeapYear(year), `${year}`).toBe(false);
  expect([2023, 2024, 1900, 2000].map((year) => daysInMonth(year, 2))).toEqual([28, 29, 28, 29]);
  expect(daysInMonth(2024, 13)).toBe(0);
});

test("a day converts to a date and back, within 400,000 years of now", () => {
  fc.assert(
    fc.property(anyDays, (day) => {
      const date = dateOfDays(day);
      expect(daysOfDate(date)).toBe(day);
      expect(date.month).toBeGreaterThanOrEqual(1);
      expect(date.month).toBeLessThanOrEqual(12);
      expect(date.day).toBeGreaterThanOrEqual(1);
      expect(date.day).toBeLessThanOrEqual(daysInMonth(date.year, date.month));
    }),
    { numRuns: runs(2000) },
  );
});

test("the next day is the next date, across the ends of months, years and cycles", () => {
  const starts = [days(2023, 12, 1), days(2024, 2, 1), days(2000, 2, 1), days(-1, 12, 1), 0];
  for (const start of [...starts, days(399, 12, 1), days(-400, 2, 1)]) {
    for (let day = start; day < start + 500; day++) {
      const { year, month, day: dayOfMonth } = dateOfDays(day);
      const isLast = dayOfMonth === daysInMonth(year, month);
      const isYearEnd = isLast && month === 12;
      expect(dateOfDays(day + 1)).toEqual({
        year: isYearEnd ? year + 1 : year,
        month: isYearEnd ? 1 : isLast ? month + 1 : month,
        day: isLast ? 1 : dayOfMonth + 1,
      });
    }
  }
});

test("the host's calendar agrees, as far as it goes", () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000_000, max: 100_000_000 }), (day) => {
      const date = new Date(day * DAY_MS);
      expect(dateOfDays(day)).toEqual({
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
      });
      expect(weekdayOf(day) % 7).toBe(date.getUTCDay());
    }),
    { numRuns: runs(2000) },
  );
});

test("weekdays go from Monday, 1, to Sunday, 7", () => {
  expect(weekdayOf(days(2024, 3, 10))).toBe(7);
  expect(weekdayOf(days(2024, 3, 11))).toBe(1);
  expect(weekdayOf(days(1969, 12, 31))).toBe(3);
});

test("days of the year are counted from 1", () => {
  expect(dayOfYear(days(2024, 1, 1))).toBe(1);
  expect(dayOfYear(days(2024, 12, 31))).toBe(366);
  expect(dayOfYear(days(2023, 12, 31))).toBe(365);
});

test("a week belongs to the year of its Thursday", () => {
  expect(isoWeekOf(days(2021, 1, 3))).toEqual({ year: 2020, week: 53 });
  expect(isoWeekOf(days(2021, 1, 4))).toEqual({ year: 2021, week: 1 });
  expect(isoWeekOf(days(2024, 12, 30))).toEqual({ year: 2025, week: 1 });
});

test("a remainder is never negative, and never -0", () => {
  expect(modulo(-1, 7)).toBe(6);
  expect(modulo(-7, 7)).toBe(0);
  expect(modulo(8, 7)).toBe(1);
});
