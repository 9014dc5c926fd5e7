/**
 * Date formats: compile a format text and format a moment as text with it.
 *
 * There are two format languages: percent directives (strftime.ts) and words such as
 * `YYYY-MM-DD hh:mm:ss.sss TZD`. A format that contains a percent sign is of the first kind. In the
 * second kind, other characters stand for themselves. An empty format is RFC 3339.
 */

import { unreachable } from "@bigpeer/protocol";
import { BoundedCache } from "../bounded-cache.ts";
import { spendEach } from "../value/cost-meter.ts";
import { dayOfYear, isoWeekOf, modulo, weekdayOf } from "./calendar.ts";
import {
  type DateFormat,
  type DateItem,
  type FractionItem,
  ISO_FORMAT,
  literal,
  MONTHS,
  type NumberField,
  type NumberItem,
  type OffsetItem,
  paddedNumber,
  SHORT_NAME_LENGTH,
  WEEKDAYS,
} from "./date-item.ts";
import { type CivilTime, civilOf, daysOf, type Moment } from "./moment.ts";
import { compileStrftime } from "./strftime.ts";
import { formatOffset } from "./zone.ts";

const FORMATS_KEPT = 64;
const FORMAT_LENGTH_MAX = 1000;

const WORD = /YYYY|YY|MM|DD|hh|mm|ss|\.sss|TZD|TZN/g;

/** Formats of words that mean RFC 3339, as an empty format does. */
const ISO_WORDS = /^YYYY-MM-DD[T ]hh:mm:ss\.sssTZD$/;

/** Formats of words that show a fraction only as far as there is one. */
const TIME_WORDS = /^(?:YYYY-MM-DD[T ])?hh:mm:ss\.sss$/;

const WORDS: Readonly<Record<string, DateItem>> = {
  YYYY: paddedNumber("year", 4),
  YY: paddedNumber("year_of_century", 2),
  MM: paddedNumber("month", 2),
  DD: paddedNumber("day", 2),
  hh: paddedNumber("hour", 2),
  mm: paddedNumber("minute", 2),
  ss: paddedNumber("second", 2),
  ".sss": { kind: "fraction", digits: 3, hasPoint: true },
  TZD: { kind: "offset", form: "+hhmm" },
  TZN: { kind: "zone" },
};

const NEEDED_FRACTION: DateItem = { kind: "fraction", hasPoint: true };

const kept = new BoundedCache<string, DateFormat | undefined>(FORMATS_KEPT);

/** Compiles a format, with a cache; undefined if a directive is unknown or the text is too long. */
export function findDateFormat(text: string): DateFormat | undefined {
  if (text.length > FORMAT_LENGTH_MAX) return undefined;
  return kept.obtain(text, compileDateFormat);
}

function compileDateFormat(text: string): DateFormat | undefined {
  spendEach(16 * text.length);
  if (text === "" || ISO_WORDS.test(text)) return ISO_FORMAT;
  if (text.includes("%")) return compileStrftime(text);
  const items = compileWords(text);
  return TIME_WORDS.test(text) ? [...items.slice(0, -1), NEEDED_FRACTION] : items;
}

function compileWords(text: string): DateFormat {
  const items: DateItem[] = [];
  let position = 0;
  for (const found of text.matchAll(WORD)) {
    if (found.index > position) items.push(literal(text.slice(position, found.index)));
    items.push(WORDS[found[0]] ?? literal(found[0]));
    position = found.index + found[0].length;
  }
  if (position < text.length) items.push(literal(text.slice(position)));
  return items;
}

/** Formats a moment as RFC 3339; a year beyond four digits gets a sign. */
export function formatIso(moment: Moment): string {
  return formatDate(ISO_FORMAT, moment);
}

export function formatDate(format: DateFormat, moment: Moment): string {
  const time = civilOf(moment);
  let text = "";
  for (const item of format) text += showItem(item, moment, time);
  return text;
}

function showItem(item: DateItem, moment: Moment, time: CivilTime): string {
  switch (item.kind) {
    case "literal":
      return item.text;
    case "number":
      return showNumber(item, valueOf(item.field, moment, time));
    case "name": {
      const name =
        item.field === "month" ? MONTHS[time.month - 1] : WEEKDAYS[weekdayOf(daysOf(moment)) - 1];
      return (name ?? "").slice(0, item.isShort ? SHORT_NAME_LENGTH : undefined);
    }
    case "half": {
      const half = time.hour < 12 ? "AM" : "PM";
      return item.isLower ? half.toLowerCase() : half;
    }
    case "fraction":
      return showFraction(item, time.millisecond * 1_000_000 + moment.nanos);
    case "offset":
      return showOffset(item.form, moment.offset);
    case "zone":
      return moment.zone ?? formatOffset(moment.offset);
    default:
      return unreachable(item);
  }
}

function showNumber({ field, width, pad }: NumberItem, value: number): string {
  const isYear = field === "year" || field === "iso_year";
  if (isYear && (value < 0 || value > 9999)) {
    return (value < 0 ? "-" : "+") + String(Math.abs(value)).padStart(4, "0");
  }
  return pad === "" ? String(value) : String(value).padStart(width, pad);
}

function valueOf(field: NumberField, moment: Moment, time: CivilTime): number {
  switch (field) {
    case "year":
    case "month":
    case "day":
    case "hour":
    case "minute":
    case "second":
      return time[field];
    case "century":
      return Math.floor(time.year / 100);
    case "year_of_century":
      return modulo(time.year, 100);
    case "hour_of_half":
      return time.hour % 12 || 12;
    case "epoch":
      return Math.floor(moment.ms / 1000);
    case "day_of_year":
    case "weekday":
    case "weekday_from_sunday":
    case "week_from_sunday":
    case "week_from_monday":
    case "iso_year":
    case "iso_year_of_century":
    case "iso_week":
      return valueOfDays(field, daysOf(moment));
    default:
      return unreachable(field);
  }
}

type DaysField = Exclude<
  NumberField,
  | "year"
  | "month"
  | "day"
  | "hour"
  | "minute"
  | "second"
  | "century"
  | "year_of_century"
  | "hour_of_half"
  | "epoch"
>;

function valueOfDays(field: DaysField, days: number): number {
  const weekday = weekdayOf(days);
  switch (field) {
    case "day_of_year":
      return dayOfYear(days);
    case "weekday":
      return weekday;
    case "weekday_from_sunday":
      return weekday % 7;
    // The days before the first Sunday, or Monday, of the year are in week 0.
    case "week_from_sunday":
      return Math.floor((dayOfYear(days) + 6 - (weekday % 7)) / 7);
    case "week_from_monday":
      return Math.floor((dayOfYear(days) + 7 - weekday) / 7);
    case "iso_year":
      return isoWeekOf(days).year;
    case "iso_year_of_century":
      return modulo(isoWeekOf(days).year, 100);
    case "iso_week":
      return isoWeekOf(days).week;
    default:
      return unreachable(field);
  }
}

function showFraction({ digits, hasPoint }: FractionItem, nanos: number): string {
  const length = digits ?? neededDigits(nanos);
  if (length === 0) return "";
  return (hasPoint ? "." : "") + String(nanos).padStart(9, "0").slice(0, length);
}

function neededDigits(nanos: number): number {
  if (nanos === 0) return 0;
  if (nanos % 1_000_000 === 0) return 3;
  return nanos % 1000 === 0 ? 6 : 9;
}

function showOffset(form: OffsetItem["form"], offset: number): string {
  const text = formatOffset(offset);
  switch (form) {
    case "+hh:mm":
      return text;
    case "+hhmm":
      return text.replace(":", "");
    case "+hh":
      return text.slice(0, 3);
    case "+hh:mm:ss":
      return `${text}:00`;
    default:
      return unreachable(form);
  }
}
