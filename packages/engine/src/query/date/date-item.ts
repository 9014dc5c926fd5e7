/**
 * Date items: the elements of a compiled date format, the same for both format languages.
 */

export type NumberField =
  | "year"
  | "century"
  | "year_of_century"
  | "month"
  | "day"
  | "day_of_year"
  | "weekday"
  | "weekday_from_sunday"
  | "week_from_sunday"
  | "week_from_monday"
  | "iso_year"
  | "iso_year_of_century"
  | "iso_week"
  | "hour"
  | "hour_of_half"
  | "minute"
  | "second"
  | "epoch";

export type DateItem =
  | LiteralItem
  | NumberItem
  | NameItem
  | HalfItem
  | FractionItem
  | OffsetItem
  | ZoneItem;

export interface LiteralItem {
  readonly kind: "literal";
  readonly text: string;
}

export interface NumberItem {
  readonly kind: "number";
  readonly field: NumberField;
  readonly width: number;
  readonly pad: "0" | " " | "";
  /** Whether a parsed text must have all digits; else it may omit leading zeros. */
  readonly isExact: boolean;
}

export interface NameItem {
  readonly kind: "name";
  readonly field: "month" | "weekday";
  readonly isShort: boolean;
}

/** AM or PM. */
export interface HalfItem {
  readonly kind: "half";
  readonly isLower: boolean;
}

/** Fraction of a second. */
export interface FractionItem {
  readonly kind: "fraction";
  /** Number of digits. Default: the fewest of 0, 3, 6 and 9 that lose nothing. */
  readonly digits?: number;
  readonly hasPoint: boolean;
}

export interface OffsetItem {
  readonly kind: "offset";
  readonly form: "+hh:mm" | "+hhmm" | "+hh" | "+hh:mm:ss";
}

/** Name of the time zone, or the offset if no zone was named. */
export interface ZoneItem {
  readonly kind: "zone";
}

export type DateFormat = readonly DateItem[];

export const MONTHS: readonly string[] = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

export const WEEKDAYS: readonly string[] = [
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
  "Sunday",
];

/** Number of letters of the short form of a name. */
export const SHORT_NAME_LENGTH = 3;

export function literal(text: string): LiteralItem {
  return { kind: "literal", text };
}

/** Number with leading zeros that a parsed text must have, as in `07`. */
export function exactNumber(field: NumberField, width: number): NumberItem {
  return { kind: "number", field, width, pad: "0", isExact: true };
}

/** Number with leading zeros that a parsed text may omit. */
export function paddedNumber(field: NumberField, width: number): NumberItem {
  return { kind: "number", field, width, pad: "0", isExact: false };
}

/** RFC 3339, with a fraction as long as needed. */
export const ISO_FORMAT: DateFormat = [
  exactNumber("year", 4),
  literal("-"),
  exactNumber("month", 2),
  literal("-"),
  exactNumber("day", 2),
  literal("T"),
  exactNumber("hour", 2),
  literal(":"),
  exactNumber("minute", 2),
  literal(":"),
  exactNumber("second", 2),
  { kind: "fraction", hasPoint: true },
  { kind: "offset", form: "+hh:mm" },
];
