/**
 * Functions of dates and durations.
 *
 * A date is a text in RFC 3339 with an offset, an integer (milliseconds since 1970) or a float
 * (seconds since 1970). What is computed from it is again of its kind and at its offset, unless a
 * format is given: then it is text.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger, unreachable } from "@bigpeer/protocol";
import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import { weekdayOf } from "../date/calendar.ts";
import { findDateFormat, formatDate, formatIso } from "../date/date-format.ts";
import { type DateFormat, MONTHS } from "../date/date-item.ts";
import { parseDate, parseIso } from "../date/date-parse.ts";
import { formatDuration, parseDuration } from "../date/duration.ts";
import {
  civilOf,
  daysOf,
  difference,
  findUnit,
  isBefore,
  isInTime,
  type Moment,
  shift,
  truncate,
  UNIT_MS,
  type Unit,
} from "../date/moment.ts";
import { atZone, findZone, formatOffset, type Zone } from "../date/zone.ts";
import type { Run } from "../frame/frame.ts";
import {
  approximate,
  type Datum,
  Failure,
  type Float,
  isInteger,
  isNumeric,
  type Outcome,
  type PresentDatum,
  toFloat,
} from "../value/datum.ts";
import { spend } from "../value/effort.ts";
import { memorySize } from "../value/memory-size.ts";
import { ARRAY_TOO_LONG } from "../value/size-bound.ts";
import type { FunctionSpec } from "./function.ts";
import { chargeGrowth, ELEMENT_BYTES } from "./growth.ts";

const NO_DATE = new Failure(
  "expected a date: text in RFC 3339 with an offset, milliseconds or seconds since 1970",
);
const NO_UNIT = new Failure(
  "expected a unit: year, month, day, hour, minute, second or millisecond",
);
const NO_PART = new Failure("expected a unit, weekday, monthname or timezone");
const NO_COUNT = new Failure("expected a whole number of units");
const NO_STEP = new Failure("expected a step of one unit or more, or of minus one or less");
const NO_FORMAT = new Failure("expected a date format");
const NO_ZONE = new Failure("expected a time zone: a name such as Europe/Paris, or an offset");
const NOT_IN_FORMAT = new Failure("expected a text as the format says");
const OUT_OF_TIME = new Failure("expected a date that lies within the years -271821 to 275760");
const NO_DURATION = new Failure("expected a duration such as 1h30m");
const NO_LENGTH = new Failure(
  "expected a number, and a unit of a fixed length: day to millisecond",
);

type Kind = "text" | "integer" | "float";

interface Dated {
  readonly moment: Moment;
  readonly kind: Kind;
}

export const DATE_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "clock", arity: [0, 2], nulls: "pass", apply: clock },
  { name: "now", arity: [0, 0], nulls: "pass", apply: (_args, run) => formatIso(startOf(run)) },
  { name: "date_cast", arity: [1, 2], nulls: "pass", apply: dateCast },
  { name: "date_format", arity: [2, 3], nulls: "see", apply: dateFormat },
  { name: "date_add", arity: [3, 5], nulls: "pass", apply: (args) => dateAdd(args, 1) },
  { name: "date_sub", arity: [3, 5], nulls: "pass", apply: (args) => dateAdd(args, -1) },
  { name: "date_diff", arity: [3, 3], nulls: "pass", apply: dateDiff },
  { name: "date_part", arity: [2, 2], nulls: "pass", apply: datePart },
  { name: "date_trunc", arity: [2, 2], nulls: "pass", apply: dateTrunc },
  { name: "date_range", arity: [4, 6], nulls: "pass", apply: dateRange },
  { name: "tz_offset", arity: [1, 2], nulls: "pass", apply: tzOffset },
  { name: "duration_cast", arity: [1, 2], nulls: "pass", apply: durationCast },
  { name: "duration_format", arity: [1, 2], nulls: "pass", apply: durationFormat },
];

/** clock([format[, zone]]): when the statement began. */
function clock([format, zone]: readonly Datum[], run: Run): Outcome {
  return show({ moment: startOf(run), kind: "integer" }, format, zone);
}

/** One reading of the clock for the whole statement. */
function startOf({ request }: Run): Moment {
  return { ms: Math.floor(request.startMs), nanos: 0, offset: 0 };
}

/** date_cast(date[, format]): milliseconds. The format says how a text is to be read. */
function dateCast([date, format]: readonly Datum[]): Outcome {
  if (typeof date !== "string" || format === undefined) {
    const dated = readDate(date);
    return dated instanceof Failure ? dated : dated.moment.ms;
  }
  const moment = readText(date, format);
  return moment instanceof Failure ? moment : moment.ms;
}

/** date_format(date, format[, zone]). What is no date is refused even where the format is null. */
function dateFormat(args: readonly Datum[]): Outcome {
  if (args.includes(undefined)) return undefined;
  const [date, format, zone] = args;
  if (date === null) return null;
  const dated = readDate(date);
  if (dated instanceof Failure) return dated;
  return args.includes(null) ? null : show(dated, format, zone);
}

/** date_add(date, unit, count[, format[, zone]]), and date_sub with the sign turned. */
function dateAdd([date, unit, count, format, zone]: readonly Datum[], sign: 1 | -1): Outcome {
  const dated = readDate(date);
  if (dated instanceof Failure) return dated;
  const known = readUnit(unit);
  if (known instanceof Failure) return known;
  const units = readUnitCount(count);
  if (units instanceof Failure) return units;
  const moment = shift(dated.moment, known, sign * units);
  return moment === undefined ? OUT_OF_TIME : show({ ...dated, moment }, format, zone);
}

/** date_diff(a, b, unit): whole units from b to a. */
function dateDiff([a, b, unit]: readonly Datum[]): Outcome {
  const to = readDate(a);
  if (to instanceof Failure) return to;
  const from = readDate(b);
  if (from instanceof Failure) return from;
  const known = readUnit(unit);
  if (known instanceof Failure) return known;
  const units = difference(to.moment, from.moment, known);
  return Number.isSafeInteger(units) ? units : OUT_OF_TIME;
}

/** date_part(date, part). */
function datePart([date, part]: readonly Datum[]): Outcome {
  const dated = readDate(date);
  if (dated instanceof Failure) return dated;
  const { moment } = dated;
  switch (part) {
    case "weekday":
      return weekdayOf(daysOf(moment));
    case "monthname":
      return MONTHS[civilOf(moment).month - 1];
    case "tz":
    case "timezone":
      return formatOffset(moment.offset);
    default: {
      const unit = readUnit(part);
      return unit instanceof Failure ? NO_PART : civilOf(moment)[unit];
    }
  }
}

/** date_trunc(date, unit): the beginning of the unit. */
function dateTrunc([date, unit]: readonly Datum[]): Outcome {
  const dated = readDate(date);
  if (dated instanceof Failure) return dated;
  const known = readUnit(unit);
  if (known instanceof Failure) return known;
  const moment = truncate(dated.moment, known);
  return moment === undefined ? OUT_OF_TIME : show({ ...dated, moment });
}

/** tz_offset(text[, format]): minutes east of UTC. */
function tzOffset([text, format]: readonly Datum[]): Outcome {
  if (typeof text !== "string") return NO_DATE;
  const moment = format === undefined ? parseIso(text) : readText(text, format);
  if (moment === undefined) return NO_DATE;
  return moment instanceof Failure ? moment : moment.offset;
}

/** The bytes of a range are counted in portions of this. */
const COUNTED_BYTES = 4096;

/** What it counts to make a date and write it as text. */
const TEXT_STEPS = 3;

/**
 * date_range(start, end, unit, step[, format[, zone]]): the start, always, and each date a step after
 * the last one for as long as the end is not reached. With a negative step dates go back. A step of
 * months counts from the last date: after 31 January and 29 February comes 29 March.
 */
function dateRange(args: readonly Datum[], run: Run): Outcome {
  const [start, end, unit, step, format, zone] = args;
  const from = readDate(start);
  if (from instanceof Failure) return from;
  const to = readDate(end);
  if (to instanceof Failure) return to;
  const known = readUnit(unit);
  if (known instanceof Failure) return known;
  const count = readUnitCount(step);
  if (count instanceof Failure) return count;
  if (count === 0) return NO_STEP;
  const style = readStyle(format, zone);
  if (style instanceof Failure) return style;
  const dates: PresentDatum[] = [];
  let uncounted = 0;
  let moment: Moment | undefined = from.moment;
  do {
    const date = showAs({ moment, kind: from.kind }, style);
    dates.push(date);
    run.budget.step(typeof date === "string" ? TEXT_STEPS : 1);
    uncounted += ELEMENT_BYTES + memorySize(date);
    if (uncounted > COUNTED_BYTES) {
      chargeGrowth(run, uncounted);
      uncounted = 0;
    }
    if (dates.length > COMPUTED_SIZE_MAX) return ARRAY_TOO_LONG;
    moment = shift(moment, known, count);
  } while (moment !== undefined && isOnTheWay(moment, to.moment, count));
  return dates;
}

function isOnTheWay(moment: Moment, end: Moment, step: number): boolean {
  return step > 0 ? isBefore(moment, end) : isBefore(end, moment);
}

/** duration_cast(text[, unit]): milliseconds, or another unit. Whole when it is, else a float. */
function durationCast([text, unit]: readonly Datum[]): Outcome {
  const unitNanos = readUnitNanos(unit);
  if (unitNanos === undefined) return NO_LENGTH;
  const nanos = typeof text === "string" ? parseDuration(text) : undefined;
  if (nanos === undefined) return NO_DURATION;
  const units = nanos / unitNanos;
  if (units < INTEGER_MIN || units > INTEGER_MAX) return NO_DURATION;
  if (nanos % unitNanos === 0n) return normalInteger(units);
  return toFloat(Number(nanos) / Number(unitNanos));
}

/** duration_format(number[, unit]): the number of milliseconds, or of another unit, as `1h30m0s`. */
function durationFormat([number, unit]: readonly Datum[]): Outcome {
  const unitNanos = readUnitNanos(unit);
  if (unitNanos === undefined || !isNumeric(number)) return NO_LENGTH;
  if (isInteger(number)) return formatDuration(BigInt(number) * unitNanos);
  const nanos = Math.round(approximate(number) * Number(unitNanos));
  return Number.isFinite(nanos) ? formatDuration(BigInt(nanos)) : NO_LENGTH;
}

function readUnitNanos(unit: Datum): bigint | undefined {
  if (unit === undefined) return BigInt(UNIT_MS.millisecond) * 1_000_000n;
  const known = readUnit(unit);
  if (known instanceof Failure || known === "year" || known === "month") return undefined;
  return BigInt(UNIT_MS[known]) * 1_000_000n;
}

function readDate(datum: Datum): Dated | Failure {
  if (typeof datum === "string") {
    const moment = parseIso(datum);
    return moment === undefined ? NO_DATE : { moment, kind: "text" };
  }
  if (!isNumeric(datum)) return NO_DATE;
  const kind = isInteger(datum) ? "integer" : "float";
  const moment = kind === "integer" ? momentOfMs(approximate(datum)) : momentOfSeconds(datum);
  return moment === undefined ? OUT_OF_TIME : { moment, kind };
}

function momentOfMs(ms: number): Moment | undefined {
  // Adding 0 takes the sign of a zero away.
  return isInTime(ms) ? { ms: ms + 0, nanos: 0, offset: 0 } : undefined;
}

/** To the microsecond; a float of today's date is not more exact. */
function momentOfSeconds(seconds: number | bigint | Float): Moment | undefined {
  const micros = Math.round(approximate(seconds) * 1_000_000);
  const ms = Math.floor(micros / 1000);
  if (!isInTime(ms)) return undefined;
  return { ms, nanos: Math.max(0, micros - ms * 1000) * 1000, offset: 0 };
}

function readText(text: string, format: Datum): Moment | Failure {
  const known = readFormat(format);
  if (known instanceof Failure) return known;
  return parseDate(known, text) ?? NOT_IN_FORMAT;
}

function readUnit(unit: Datum): Unit | Failure {
  return (typeof unit === "string" ? findUnit(unit) : undefined) ?? NO_UNIT;
}

/** What is more than whole is left out. */
function readUnitCount(count: Datum): number | Failure {
  if (!isNumeric(count)) return NO_COUNT;
  const whole = Math.trunc(approximate(count)) + 0;
  return Number.isSafeInteger(whole) ? whole : NO_COUNT;
}

function readFormat(format: Datum): DateFormat | Failure {
  return (typeof format === "string" ? findDateFormat(format) : undefined) ?? NO_FORMAT;
}

/** How a date is to be shown; without a format it stays of its kind. */
interface Style {
  readonly format?: DateFormat;
  readonly zone?: Zone;
}

function readStyle(format: Datum, zone: Datum): Style | Failure {
  if (format === undefined) return {};
  const known = readFormat(format);
  if (known instanceof Failure) return known;
  if (zone === undefined) return { format: known };
  const place = typeof zone === "string" ? findZone(zone) : undefined;
  return place === undefined ? NO_ZONE : { format: known, zone: place };
}

function show(dated: Dated, format?: Datum, zone?: Datum): PresentDatum | Failure {
  const style = readStyle(format, zone);
  return style instanceof Failure ? style : showAs(dated, style);
}

/** What it counts to find an offset, and the items of a format that count as a step. */
const ZONE_STEPS = 4;
const ITEMS_PER_STEP = 8;

function showAs({ moment, kind }: Dated, { format, zone }: Style): PresentDatum {
  if (zone !== undefined) spend(ZONE_STEPS);
  const placed = zone === undefined ? moment : atZone(moment, zone);
  if (format !== undefined) {
    spend(format.length / ITEMS_PER_STEP);
    return formatDate(format, placed);
  }
  switch (kind) {
    case "text":
      return formatIso(placed);
    case "integer":
      return placed.ms;
    case "float":
      return toFloat((placed.ms + placed.nanos / 1_000_000) / 1000);
    default:
      return unreachable(kind);
  }
}
