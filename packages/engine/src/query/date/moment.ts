/**
 * Moment: a point in time and the offset at which it is shown, with its arithmetic.
 *
 * Years and months are counted on the calendar at the moment's own offset, everything shorter is a
 * fixed length of time. A result outside the range of time is undefined, never a wrong date.
 */

import { type CivilDate, DAY_MS, dateOfDays, daysInMonth, daysOfDate, modulo } from "./calendar.ts";

export interface Moment {
  /** Milliseconds since 1970-01-01T00:00:00Z, whole. */
  readonly ms: number;
  /** What comes after the milliseconds: 0 to 999,999. */
  readonly nanos: number;
  /** Minutes east of UTC. */
  readonly offset: number;
  /** The zone that the offset comes from, when it has a name. */
  readonly zone?: string;
}

/** What a calendar and a clock beside it show. */
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

/** As far as the host knows time zones: the years -271,821 to 275,760. */
const MS_MAX = 8.64e15;

/** More months than the range of time has; fewer lose no digit. */
const MONTHS_MAX = 12_000_000;

/** Names are in lower case only. */
export function findUnit(name: string): Unit | undefined {
  return UNITS.get(name);
}

export function isInTime(ms: number): boolean {
  return Number.isInteger(ms) && Math.abs(ms) <= MS_MAX;
}

/** The moment as it is shown at its offset. */
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

/** Days from 1970-01-01 to the date that is shown at the moment's offset. */
export function daysOf({ ms, offset }: Moment): number {
  return Math.floor((ms + offset * UNIT_MS.minute) / DAY_MS);
}

/** As if the civil time were at UTC. */
export function localMsOf(time: CivilTime): number {
  const { hour, minute, second, millisecond } = time;
  const msOfDay = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond;
  return daysOfDate(time) * DAY_MS + msOfDay;
}

/** Whether there is such a day and such a time of day. Leap seconds are not known here. */
export function isCivilTime({ year, month, day, hour, minute, second }: CivilTime): boolean {
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  return isDate && hour <= 23 && minute <= 59 && second <= 59;
}

/** The moment `count` units later. A day that its month does not have becomes the month's last. */
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

/** The beginning of the unit that the moment lies in. */
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
 * How many units lie between, whole ones, negative when `a` is earlier. Years and months are told by
 * the calendar alone: from 31 January to 1 February is one month. Both are read at UTC, so that the
 * same moment written twice is never a month apart.
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
  // Adding 0 makes -0 an integer like others.
  return Math.trunc(ms / unitMs) + 0;
}

/** Whether `a` comes before `b`, whatever their offsets. */
export function isBefore(a: Moment, b: Moment): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.nanos < b.nanos);
}

function withLocalMs(moment: Moment, localMs: number): Moment | undefined {
  return withMs(moment, localMs - moment.offset * UNIT_MS.minute);
}

function withMs(moment: Moment, ms: number): Moment | undefined {
  return isInTime(ms) ? { ...moment, ms } : undefined;
}
