/**
 * Date functions: parse, format, shift, truncate and compare dates, and convert durations.
 *
 * A date is text in RFC 3339 with an offset, an integer (milliseconds since 1970) or a float
 * (seconds since 1970). Without a format argument a text gives a text at the same offset, and a
 * number gives milliseconds. With a format the result is text.
 */

import { INTEGER_MAX, INTEGER_MIN, normalInteger, unreachable } from "@bigpeer/protocol";
import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import { weekdayOf } from "../date/calendar.ts";
import { findDateFormat, formatDate, formatIso } from "../date/date-format.ts";
import { type DateFormat, MONTHS } from "../date/date-item.ts";
import { parseDate, parseIso } from "../date/date-parse.ts";
import {
  findDurationUnit,
  formatDuration,
  MILLISECOND_NANOS,
  parseDuration,
  SECOND_NANOS,
} from "../date/duration.ts";
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
  type Unit,
} from "../date/moment.ts";
import { atZone, findZone, formatOffset, offsetZone, type Zone } from "../date/zone.ts";
import type { Run } from "../frame/frame.ts";
import { spend } from "../value/cost-meter.ts";
import {
  approximate,
  type Datum,
  Failure,
  isInteger,
  isNumeric,
  type Outcome,
  type PresentDatum,
  toFloat,
} from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";
import { ARRAY_TOO_LONG } from "../value/size-bound.ts";
import { notNumber } from "./argument.ts";
import { type FunctionSpec, inTurn, type Wrong } from "./function.ts";
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
const NO_ZONE = new Failure(
  "expected a time zone: a name such as Europe/Paris, an offset, or minutes east of UTC",
);
const NOT_IN_FORMAT = new Failure("expected a text as the format says");
const OUT_OF_TIME = new Failure("expected a date that lies within the years -271821 to 275760");
const NO_DURATION = new Failure("expected a duration such as 1h30m");
const NO_LENGTH = new Failure(
  "expected a number, and a unit: second, millisecond, microsecond or nanosecond",
);

/** Kind of the input. A number gives milliseconds, also where it was a float of seconds. */
type Kind = "text" | "number";

interface Dated {
  readonly moment: Moment;
  readonly kind: Kind;
}

function failureIn(read: unknown): Failure | undefined {
  return read instanceof Failure ? read : undefined;
}

const notDate: Wrong = (datum) => failureIn(readDate(datum));
const notDated: Wrong = (datum) =>
  typeof datum === "string" || isNumeric(datum) ? undefined : NO_DATE;
const notUnit: Wrong = (datum) => failureIn(readUnit(datum));
const notUnitCount: Wrong = (datum) => failureIn(readUnitCount(datum));
const notFormat: Wrong = (datum) => (typeof datum === "string" ? undefined : NO_FORMAT);
const notZone: Wrong = (datum) => (readZone(datum) === undefined ? NO_ZONE : undefined);
const notPart: Wrong = (datum) => (typeof datum === "string" ? undefined : NO_PART);
const notDateText: Wrong = (datum) => (typeof datum === "string" ? undefined : NO_DATE);
const notLength: Wrong = (datum) => failureIn(readUnitNanos(datum));

const SHIFT_CHECKS = inTurn(notDate, notUnit, notUnitCount, notFormat, notZone);
const RANGE_CHECKS = inTurn(notDated, notDated, notUnit, notUnitCount, notFormat, notZone);

export const DATE_FUNCTIONS: readonly FunctionSpec[] = [
  inOrder("clock", [0, 2], inTurn(notFormat, notZone), clock),
  { name: "now", arity: [0, 0], nulls: "pass", apply: (_args, run) => formatIso(startOf(run)) },
  inOrder("date_cast", [1, 2], inTurn(notDated, notFormat), dateCast),
  inOrder("date_format", [2, 3], inTurn(notDate, notFormat, notZone), dateFormat),
  inOrder("date_add", [3, 5], SHIFT_CHECKS, (args) => dateAdd(args, 1)),
  inOrder("date_sub", [3, 5], SHIFT_CHECKS, (args) => dateAdd(args, -1)),
  inOrder("date_diff", [3, 3], inTurn(notDated, notDated, notUnit), dateDiff),
  inOrder("date_part", [2, 2], inTurn(notDated, notPart), datePart),
  inOrder("date_trunc", [2, 2], inTurn(notDated, notUnit), dateTrunc),
  inOrder("date_range", [4, 6], RANGE_CHECKS, dateRange),
  inOrder("tz_offset", [1, 2], inTurn(notDateText, notFormat), tzOffset),
  inOrder("duration_cast", [1, 2], inTurn(notDateText, notLength), durationCast),
  inOrder("duration_format", [1, 2], inTurn(notNumber, notLength), durationFormat),
];

/** A function that fails with its first bad argument, from the left. */
function inOrder(
  name: string,
  arity: FunctionSpec["arity"],
  checks: NonNullable<FunctionSpec["checks"]>,
  apply: FunctionSpec["apply"],
): FunctionSpec {
  return { name, arity, nulls: "pass", checks, apply };
}

/** clock([format[, zone]]): the start time of the statement. */
function clock([format, zone]: readonly Datum[], run: Run): Outcome {
  return show({ moment: startOf(run), kind: "number" }, format, zone);
}

/** The start time of the statement, the same throughout it. */
function startOf({ request }: Run): Moment {
  return { ms: Math.floor(request.startMs), nanos: 0, offset: 0 };
}

/** date_cast(date[, format]): milliseconds. The format is for parsing text. */
function dateCast([date, format]: readonly Datum[]): Outcome {
  if (typeof date !== "string" || format === undefined) {
    const dated = readDate(date);
    return dated instanceof Failure ? dated : dated.moment.ms;
  }
  const moment = readText(date, format);
  return moment instanceof Failure ? moment : moment.ms;
}

/** date_format(date, format[, zone]). */
function dateFormat([date, format, zone]: readonly Datum[]): Outcome {
  const dated = readDate(date);
  return dated instanceof Failure ? dated : show(dated, format, zone);
}

/** date_add(date, unit, count[, format[, zone]]), and date_sub with the opposite sign. */
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
      return dated.kind === "number" ? "UTC" : formatOffset(moment.offset);
    default: {
      const unit = readUnit(part);
      return unit instanceof Failure ? NO_PART : civilOf(moment)[unit];
    }
  }
}

/** date_trunc(date, unit): the start of the unit. */
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

/** Memory of a range is charged in portions of this size. */
const COUNTED_BYTES = 4096;

/** Cost of making a date, and of formatting it as text, in steps. */
const DATE_STEPS = 2;
const TEXT_STEPS = 6;

/**
 * date_range(start, end, unit, step[, format[, zone]]): always the start, then further dates, each
 * a step after the last one, before the end. A negative step goes back in time. A step of months
 * counts from the last date: after 31 January and 29 February comes 29 March.
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
    run.budget.step(typeof date === "string" ? TEXT_STEPS : DATE_STEPS);
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

/** duration_cast(text[, unit]): whole milliseconds or other units; seconds are a float. */
function durationCast([text, unit]: readonly Datum[]): Outcome {
  const unitNanos = readUnitNanos(unit);
  if (unitNanos instanceof Failure) return unitNanos;
  const nanos = typeof text === "string" ? parseDuration(text) : undefined;
  if (nanos === undefined) return NO_DURATION;
  if (unitNanos === SECOND_NANOS) return toFloat(Number(nanos) / Number(SECOND_NANOS));
  const units = nanos / unitNanos;
  return units < INTEGER_MIN || units > INTEGER_MAX ? NO_DURATION : normalInteger(units);
}

/**
 * duration_format(number[, unit]): as `1h30m0s`. Without a unit an integer is in milliseconds and a
 * float in seconds, as for dates.
 */
function durationFormat([number, unit]: readonly Datum[]): Outcome {
  if (!isNumeric(number)) return NO_LENGTH;
  const unitNanos = unit === undefined && !isInteger(number) ? SECOND_NANOS : readUnitNanos(unit);
  if (unitNanos instanceof Failure) return unitNanos;
  if (isInteger(number)) return formatDuration(BigInt(number) * unitNanos);
  const nanos = Math.round(approximate(number) * Number(unitNanos));
  return Number.isFinite(nanos) ? formatDuration(BigInt(nanos)) : NO_LENGTH;
}

function readUnitNanos(unit: Datum): bigint | Failure {
  if (unit === undefined) return MILLISECOND_NANOS;
  return (typeof unit === "string" ? findDurationUnit(unit) : undefined) ?? NO_LENGTH;
}

function readDate(datum: Datum): Dated | Failure {
  if (typeof datum === "string") {
    const moment = parseIso(datum);
    return moment === undefined ? NO_DATE : { moment, kind: "text" };
  }
  if (!isNumeric(datum)) return NO_DATE;
  const number = approximate(datum);
  const moment = momentOfMs(isInteger(datum) ? number : msOfSeconds(number));
  return moment === undefined ? OUT_OF_TIME : { moment, kind: "number" };
}

function momentOfMs(ms: number): Moment | undefined {
  // Adding 0 turns -0 into 0.
  return isInTime(ms) ? { ms: ms + 0, nanos: 0, offset: 0 } : undefined;
}

/** Rounds to the millisecond, half away from zero. */
function msOfSeconds(seconds: number): number {
  return Math.sign(seconds) * Math.round(Math.abs(seconds) * 1000);
}

function readText(text: string, format: Datum): Moment | Failure {
  const known = readFormat(format);
  if (known instanceof Failure) return known;
  return parseDate(known, text) ?? NOT_IN_FORMAT;
}

function readUnit(unit: Datum): Unit | Failure {
  return (typeof unit === "string" ? findUnit(unit) : undefined) ?? NO_UNIT;
}

/** Reads a number of units; a fraction is cut off. */
function readUnitCount(count: Datum): number | Failure {
  if (!isNumeric(count)) return NO_COUNT;
  const whole = Math.trunc(approximate(count)) + 0;
  return Number.isSafeInteger(whole) ? whole : NO_COUNT;
}

function readFormat(format: Datum): DateFormat | Failure {
  return (typeof format === "string" ? findDateFormat(format) : undefined) ?? NO_FORMAT;
}

/** Output format of a date; without one the result keeps the kind of the input. */
interface Style {
  readonly format?: DateFormat;
  readonly zone?: Zone;
}

function readStyle(format: Datum, zone: Datum): Style | Failure {
  if (format === undefined) return {};
  const known = readFormat(format);
  if (known instanceof Failure) return known;
  if (zone === undefined) return { format: known };
  const place = readZone(zone);
  return place === undefined ? NO_ZONE : { format: known, zone: place };
}

/** Reads a zone: a name, an offset, or minutes east of UTC. */
function readZone(zone: Datum): Zone | undefined {
  if (typeof zone === "string") return findZone(zone);
  return isInteger(zone) ? offsetZone(Number(zone)) : undefined;
}

function show(dated: Dated, format?: Datum, zone?: Datum): PresentDatum | Failure {
  const style = readStyle(format, zone);
  return style instanceof Failure ? style : showAs(dated, style);
}

/** Cost of finding an offset, in steps, and number of format items per step. */
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
    case "number":
      return placed.ms;
    default:
      return unreachable(kind);
  }
}
