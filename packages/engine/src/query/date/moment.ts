/**
 * Moment: a point in time with the UTC offset at which it is shown, and arithmetic on it.
 *
 * Years and months are counted on the calendar at the moment's own offset; shorter units have a
 * fixed length. A result outside the supported range is undefined, never a wrong date.
 */

import { type CivilDate, DAY_MS, dateOfDays, daysInMonth, daysOfDate, modulo } from "./calendar.ts";

export interface Moment {
  /** Milliseconds since 1970-01-01T00:00:00Z, whole. */
  readonly ms: number;
  /** Nanoseconds after the milliseconds: 0 to 999,999. */
  readonly nanos: number;
  /** Minutes east of UTC. */
  readonly offset: number;
  /** Name of the time zone that the offset comes from, if any. */
  readonly zone?: string;
}

/** Date and time of day as a calendar and a clock show them. */
export interface CivilTime extends CivilDate {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
}

export type FixedUnit = "day" | "hour" | "minute" | "second" | "millisecond";
export type Unit = "year" | "month" | FixedUnit;

export const UNIT_MS: Readonly<Record<FixedUnit, number>> = {
  day: DAY_MS,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
};

const UNITS: ReadonlyMap<string, Unit> = new Map<string, Unit>([
  ["year", "year"],
  ["years", "year"],
  ["mon", "month"],
  ["month", "month"],
  ["months", "month"],
  ["day", "day"],
  ["days", "day"],
  ["hour", "hour"],
  ["hours", "hour"],
  ["min", "minute"],
  ["minute", "minute"],
  ["minutes", "minute"],
  ["sec", "second"],
  ["second", "second"],
  ["seconds", "second"],
  ["ms", "millisecond"],
  ["millis", "millisecond"],
  ["millisecond", "millisecond"],
  ["milliseconds", "millisecond"],
]);

/** Range of `Date`: the years -271,821 to 275,760. */
const MS_MAX = 8.64e15;

/** More months than the range has; smaller numbers stay exact. */
const MONTHS_MAX = 12_000_000;

/** Unit of a name in lower case. */
export function findUnit(name: string): Unit | undefined {
  return UNITS.get(name);
}

export function isInTime(ms: number): boolean {
  return Number.isInteger(ms) && Math.abs(ms) <= MS_MAX;
}

/** Date and time of a moment at its offset. */
export function civilOf({ ms, offset }: Moment): CivilTime {
  const localMs = ms + offset * UNIT_MS.minute;
  const days = Math.floor(localMs / DAY_MS);
  const msOfDay = localMs - days * DAY_MS;
  // Spelt out: a spread costs more than all else here.
  const { year, month, day } = dateOfDays(days);
  return {
    year,
    month,
    day,
    hour: Math.floor(msOfDay / UNIT_MS.hour),
    minute: Math.floor(msOfDay / UNIT_MS.minute) % 60,
    second: Math.floor(msOfDay / UNIT_MS.second) % 60,
    millisecond: msOfDay % 1000,
  };
}

/** Day number of the date at the moment's offset. */
export function daysOf({ ms, offset }: Moment): number {
  return Math.floor((ms + offset * UNIT_MS.minute) / DAY_MS);
}

/** Milliseconds since 1970 of a civil time, taken as UTC. */
export function localMsOf(time: CivilTime): number {
  const { hour, minute, second, millisecond } = time;
  const msOfDay = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
  return daysOfDate(time) * DAY_MS + msOfDay;
}

/** Whether the day and the time of day exist. Leap seconds are not supported. */
export function isCivilTime({ year, month, day, hour, minute, second }: CivilTime): boolean {
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  return isDate && hour <= 23 && minute <= 59 && second <= 59;
}

/** Adds `count` units. A day that the month does not have becomes its last day. */
export function shift(moment: Moment, unit: Unit, count: number): Moment | undefined {
  if (unit === "year") return shiftMonths(moment, count * 12);
  if (unit === "month") return shiftMonths(moment, count);
  return withMs(moment, moment.ms + count * UNIT_MS[unit]);
}

function shiftMonths(moment: Moment, count: number): Moment | undefined {
  if (Math.abs(count) > MONTHS_MAX) return undefined;
  const time = civilOf(moment);
  const months = time.year * 12 + time.month - 1 + count;
  const year = Math.floor(months / 12);
  const month = modulo(months, 12) + 1;
  const day = Math.min(time.day, daysInMonth(year, month));
  return withLocalMs(moment, localMsOf({ ...time, year, month, day }));
}

/** Start of the unit that contains the moment. */
export function truncate(moment: Moment, unit: Unit): Moment | undefined {
  const whole = { ...moment, nanos: 0 };
  if (unit === "year" || unit === "month") {
    const { year, month } = civilOf(moment);
    const days = daysOfDate({ year, month: unit === "year" ? 1 : month, day: 1 });
    return withLocalMs(whole, days * DAY_MS);
  }
  const localMs = moment.ms + moment.offset * UNIT_MS.minute;
  return withLocalMs(whole, localMs - modulo(localMs, UNIT_MS[unit]));
}

/**
 * Number of whole units from `b` to `a`, negative if `a` is earlier. Years and months follow the
 * calendar alone: from 31 January to 1 February is one month. Both moments are read at UTC, so the
 * same moment at two offsets is never a month apart.
 */
export function difference(a: Moment, b: Moment, unit: Unit): number {
  if (unit !== "year" && unit !== "month") return wholeUnits(a, b, UNIT_MS[unit]);
  const from = civilOf({ ...b, offset: 0 });
  const to = civilOf({ ...a, offset: 0 });
  const years = to.year - from.year;
  return unit === "year" ? years : years * 12 + to.month - from.month;
}

function wholeUnits(a: Moment, b: Moment, unitMs: number): number {
  let ms = a.ms - b.ms;
  if (ms > 0 && a.nanos < b.nanos) ms -= 1;
  if (ms < 0 && a.nanos > b.nanos) ms += 1;
  // Adding 0 turns -0 into 0.
  return Math.trunc(ms / unitMs) + 0;
}

/** Whether `a` is earlier than `b`, at any offsets. */
export function isBefore(a: Moment, b: Moment): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.nanos < b.nanos);
}

function withLocalMs(moment: Moment, localMs: number): Moment | undefined {
  return withMs(moment, localMs - moment.offset * UNIT_MS.minute);
}

function withMs(moment: Moment, ms: number): Moment | undefined {
  return isInTime(ms) ? { ...moment, ms } : undefined;
}
