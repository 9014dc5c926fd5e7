/**
 * Date parser: reads a moment from text, as RFC 3339 or by a compiled format.
 *
 * Parts that the format does not name are those of 1970-01-01T00:00:00Z. A text is not a date if
 * its day or time does not exist, if its parts contradict each other, or if it goes on after the
 * format ends.
 */

import { unreachable } from "@bigpeer/protocol";
import { dateOfDays, daysOfDate, isLeapYear, weekdayOf } from "./calendar.ts";
import {
  type DateFormat,
  type DateItem,
  ISO_FORMAT,
  MONTHS,
  type NameItem,
  type NumberField,
  type NumberItem,
  SHORT_NAME_LENGTH,
  WEEKDAYS,
} from "./date-item.ts";
import {
  type CivilTime,
  isCivilTime,
  isInTime,
  localMsOf,
  type Moment,
  UNIT_MS,
} from "./moment.ts";
import { findZone, msOfLocal, parseOffset, type Zone } from "./zone.ts";

/** Each part matches in one way only, so matching takes linear time. */
const ISO =
  /^(\d{4}|[+-]\d{4,6})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:?\d\d)$/;

/** Longer texts are rejected unread: no date has so many characters. */
const TEXT_LENGTH_MAX = 1000;

const OFFSET = /[Zz]|[+-]\d\d(?::?\d\d)?/y;
const ZONE = /[A-Za-z][\w+/-]*|[+-]\d\d(?::?\d\d)?/y;

/** Years of two digits from here on are in the 1900s. */
const CENTURY_PIVOT = 70;

interface Found extends Partial<Record<NumberField, number>> {
  isAfternoon?: boolean;
  nanosOfSecond?: number;
  offset?: number;
  zone?: Zone;
}

/** Parses RFC 3339: a date, a time and an offset. */
export function parseIso(text: string): Moment | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const parts = ISO.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", zone = ""] = parts;
  const offset = parseOffset(zone);
  if (offset === undefined) return undefined;
  return momentOf({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    nanosOfSecond: nanosOfDigits(fraction),
    offset,
  });
}

export function parseDate(format: DateFormat, text: string): Moment | undefined {
  if (format === ISO_FORMAT) return parseIso(text);
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const found: Found = {};
  let position = 0;
  for (const item of format) {
    const end = readItem(item, text, position, found);
    if (end === undefined) return undefined;
    position = end;
  }
  return position === text.length ? momentOf(found) : undefined;
}

/** Reads one item at the position. Returns where it ends, or undefined if it does not match. */
function readItem(
  item: DateItem,
  text: string,
  position: number,
  found: Found,
): number | undefined {
  switch (item.kind) {
    case "literal":
      return text.startsWith(item.text, position) ? position + item.text.length : undefined;
    case "number":
      return readNumber(item, text, position, found);
    case "name":
      return readName(item, text, position, found);
    case "half": {
      const half = text.slice(position, position + 2).toLowerCase();
      if (half !== "am" && half !== "pm") return undefined;
      return note(found, "isAfternoon", half === "pm") ? position + 2 : undefined;
    }
    case "fraction":
      return readFraction(item, text, position, found);
    case "offset": {
      const read = readPattern(OFFSET, text, position);
      const offset = parseOffset(read);
      if (offset === undefined || !note(found, "offset", offset)) return undefined;
      const end = position + read.length;
      return item.form === "+hh:mm:ss" && text.startsWith(":00", end) ? end + 3 : end;
    }
    case "zone": {
      const read = readPattern(ZONE, text, position);
      const zone = findZone(read);
      if (zone === undefined) return undefined;
      found.zone = zone;
      return position + read.length;
    }
    default:
      return unreachable(item);
  }
}

/** Stores a part of the date; false if an earlier part has the same field and another value. */
function note<K extends keyof Found>(found: Found, key: K, value: Found[K]): boolean {
  const before = found[key];
  found[key] = value;
  return before === undefined || before === value;
}

function readPattern(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? "";
}

function readNumber(
  item: NumberItem,
  text: string,
  position: number,
  found: Found,
): number | undefined {
  const { field, pad, isExact } = item;
  let at = position;
  if (pad === " ") while (at < position + item.width && text[at] === " ") at++;
  const sign = text[at] === "-" || text[at] === "+" ? text[at] : "";
  if (sign !== "" && field !== "year" && field !== "epoch") return undefined;
  if (sign !== "") at++;
  const width = field === "epoch" ? 13 : sign === "" ? item.width : 6;
  const digits = countDigits(text, at, width);
  if (digits === 0 || (isExact && digits < item.width)) return undefined;
  const size = Number(text.slice(at, at + digits));
  const isNoted = note(found, field, sign === "-" ? 0 - size : size);
  return isNoted ? at + digits : undefined;
}

function countDigits(text: string, position: number, countMax: number): number {
  let count = 0;
  while (count < countMax && isDigit(text.charCodeAt(position + count))) count++;
  return count;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Reads a full or short name, whichever of the two the format has: `%b` reads March too. */
function readName(
  { field }: NameItem,
  text: string,
  position: number,
  found: Found,
): number | undefined {
  const rest = text.slice(position, position + 9).toLowerCase();
  for (const length of [undefined, SHORT_NAME_LENGTH]) {
    const names = (field === "month" ? MONTHS : WEEKDAYS).map((name) => name.slice(0, length));
    const index = names.findIndex((name) => rest.startsWith(name.toLowerCase()));
    if (index < 0) continue;
    const isNoted = note(found, field, index + 1);
    return isNoted ? position + (names[index] ?? "").length : undefined;
  }
  return undefined;
}

function readFraction(
  { digits, hasPoint }: { readonly digits?: number; readonly hasPoint: boolean },
  text: string,
  position: number,
  found: Found,
): number | undefined {
  // A point and the digits after it may both be absent; their number is free.
  if (hasPoint && text[position] !== ".") return position;
  const start = hasPoint ? position + 1 : position;
  const count = countDigits(text, start, hasPoint ? TEXT_LENGTH_MAX : (digits ?? TEXT_LENGTH_MAX));
  if (count === 0) return undefined;
  const nanos = nanosOfDigits(text.slice(start, start + count));
  return note(found, "nanosOfSecond", nanos) ? start + count : undefined;
}

/** Cuts off digits below a nanosecond. */
function nanosOfDigits(digits: string): number {
  return Number(digits.slice(0, 9).padEnd(9, "0"));
}

function momentOf(found: Found): Moment | undefined {
  const secondMs = found.epoch === undefined ? msOfCivil(found) : found.epoch * 1000;
  if (secondMs === undefined) return undefined;
  const { nanosOfSecond = 0, zone } = found;
  const ms = secondMs + Math.floor(nanosOfSecond / 1_000_000);
  if (!isInTime(ms)) return undefined;
  const nanos = nanosOfSecond % 1_000_000;
  const offset = found.offset ?? zone?.offsetAt(ms) ?? 0;
  return zone === undefined ? { ms, nanos, offset } : { ms, nanos, offset, zone: zone.name };
}

/** Milliseconds of the parts. An offset is exact and takes precedence over a zone. */
function msOfCivil(found: Found): number | undefined {
  const time = civilOf(found);
  if (time === undefined) return undefined;
  const { offset, zone } = found;
  const localMs = localMsOf(time);
  if (offset !== undefined || zone === undefined) return localMs - (offset ?? 0) * UNIT_MS.minute;
  return msOfLocal(localMs, zone);
}

/** Date and time of the parts, to the second. */
function civilOf(found: Found): CivilTime | undefined {
  if (hasUnreadable(found)) return undefined;
  const date = dateOf(found);
  const hour = hourOf(found);
  if (date === undefined || hour === undefined) return undefined;
  const { minute = 0, second = 0 } = found;
  const time = { ...date, hour, minute, second, millisecond: 0 };
  return isCivilTime(time) && isWeekday(found, time) ? time : undefined;
}

/** Week numbers are formatted but not parsed: no format gives the day of the week with them. */
function hasUnreadable(found: Found): boolean {
  const weeks = [found.week_from_sunday, found.week_from_monday, found.iso_week];
  const years = [found.iso_year, found.iso_year_of_century];
  return [...weeks, ...years].some((value) => value !== undefined);
}

function dateOf(found: Found): { year: number; month: number; day: number } | undefined {
  const year = yearOf(found);
  const ordinal = found.day_of_year;
  if (ordinal === undefined) return { year, month: found.month ?? 1, day: found.day ?? 1 };
  if (ordinal < 1 || ordinal > (isLeapYear(year) ? 366 : 365)) return undefined;
  const date = dateOfDays(daysOfDate({ year, month: 1, day: 1 }) + ordinal - 1);
  const isSame = (found.month ?? date.month) === date.month && (found.day ?? date.day) === date.day;
  return isSame ? date : undefined;
}

function yearOf({ year, century, year_of_century: short }: Found): number {
  if (year !== undefined) return year;
  if (century !== undefined) return century * 100 + (short ?? 0);
  if (short === undefined) return 1970;
  return short + (short < CENTURY_PIVOT ? 2000 : 1900);
}

/** Hour of the day. A 12-hour clock needs AM or PM. */
function hourOf({ hour, hour_of_half: ofHalf, isAfternoon }: Found): number | undefined {
  if (hour !== undefined) return hour;
  if (ofHalf === undefined) return 0;
  if (isAfternoon === undefined || ofHalf < 1 || ofHalf > 12) return undefined;
  return (ofHalf % 12) + (isAfternoon ? 12 : 0);
}

function isWeekday(found: Found, time: CivilTime): boolean {
  const weekday = weekdayOf(daysOfDate(time));
  const { weekday: fromMonday = weekday, weekday_from_sunday: fromSunday = weekday % 7 } = found;
  return fromMonday === weekday && fromSunday === weekday % 7;
}
