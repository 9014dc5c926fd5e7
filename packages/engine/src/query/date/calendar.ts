/**
 * Calendar: converts between day numbers, counted from 1970-01-01, and dates of year, month and
 * day.
 *
 * It is the proleptic Gregorian calendar; the year before 1 is 0. The arithmetic is on integers,
 * exact for every year whose day numbers are safe integers.
 */

export interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

export const DAY_MS = 86_400_000;

/** The calendar repeats after this many years, weekdays included. */
const CYCLE_YEARS = 400;
const CYCLE_DAYS = 146_097;

/** 1970-01-01 counted from 0000-03-01, where a cycle begins. */
const EPOCH_DAY = 719_468;

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

export function daysInMonth(year: number, month: number): number {
  return month === 2 && isLeapYear(year) ? 29 : (MONTH_LENGTHS[month - 1] ?? 0);
}

/** Day number of a date: days since 1970-01-01. */
export function daysOfDate({ year, month, day }: CivilDate): number {
  // A year that begins in March has its leap day last, so no month length depends on it.
  const shifted = month > 2 ? year : year - 1;
  const cycle = Math.floor(shifted / CYCLE_YEARS);
  const yearOfCycle = shifted - cycle * CYCLE_YEARS;
  const dayOfCycle = daysBeforeYear(yearOfCycle) + daysBeforeMonth((month + 9) % 12) + day - 1;
  return cycle * CYCLE_DAYS + dayOfCycle - EPOCH_DAY;
}

export function dateOfDays(days: number): CivilDate {
  const shifted = days + EPOCH_DAY;
  const cycle = Math.floor(shifted / CYCLE_DAYS);
  const dayOfCycle = shifted - cycle * CYCLE_DAYS;
  // A year has at most 366 days, so the guess is never late and at most one year early.
  let yearOfCycle = Math.floor(dayOfCycle / 366);
  while (daysBeforeYear(yearOfCycle + 1) <= dayOfCycle) yearOfCycle++;
  const dayFromMarch = dayOfCycle - daysBeforeYear(yearOfCycle);
  const monthFromMarch = Math.floor((5 * dayFromMarch + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = cycle * CYCLE_YEARS + yearOfCycle + (month > 2 ? 0 : 1);
  return { year, month, day: dayFromMarch - daysBeforeMonth(monthFromMarch) + 1 };
}

/** Days before a year of the cycle, each year from March to February. */
function daysBeforeYear(yearOfCycle: number): number {
  const leapDays =
    Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100) + Math.floor(yearOfCycle / 400);
  return yearOfCycle * 365 + leapDays;
}

/** Days from 1 March to the first of a month, March being 0: five months always have 153 days. */
function daysBeforeMonth(monthFromMarch: number): number {
  return Math.floor((153 * monthFromMarch + 2) / 5);
}

/** ISO weekday of a day number: Monday is 1, Sunday is 7. */
export function weekdayOf(days: number): number {
  // 1970-01-01 was a Thursday.
  return modulo(days + 3, 7) + 1;
}

/** Day of the year of a day number: 1 January is 1. */
export function dayOfYear(days: number): number {
  const { year } = dateOfDays(days);
  return days - daysOfDate({ year, month: 1, day: 1 }) + 1;
}

export interface IsoWeek {
  /** Not always the year of the date: a week belongs to the year that has its Thursday. */
  readonly year: number;
  /** 1 to 53. */
  readonly week: number;
}

export function isoWeekOf(days: number): IsoWeek {
  const thursday = days - weekdayOf(days) + 4;
  const { year } = dateOfDays(thursday);
  return { year, week: Math.floor((dayOfYear(thursday) - 1) / 7) + 1 };
}

/** Remainder that is never negative. */
export function modulo(dividend: number, divisor: number): number {
  const rest = dividend % divisor;
  return rest < 0 ? rest + divisor : rest + 0;
}
