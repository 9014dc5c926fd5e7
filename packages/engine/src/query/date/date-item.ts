/**
 * Date items: what a date format consists of, whichever of the two languages it was written in.
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
  /** Whether a text must have all the digits, or may leave out the leading ones. */
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

/** What comes after the whole second. */
export interface FractionItem {
  readonly kind: "fraction";
  /** Absent: as many as needed of 0, 3, 6 and 9. */
  readonly digits?: number;
  readonly hasPoint: boolean;
}

export interface OffsetItem {
  readonly kind: "offset";
  readonly form: "+hh:mm" | "+hhmm" | "+hh" | "+hh:mm:ss";
}

/** The name of the zone, or the offset where no zone was named. */
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

/** So many letters of a name are its short form. */
export const SHORT_NAME_LENGTH = 3;

export function literal(text: string): LiteralItem {
  return { kind: "literal", text };
}

/** Digits that a text must have in full, as in `07`. */
export function exactNumber(field: NumberField, width: number): NumberItem {
  return { kind: "number", field, width, pad: "0", isExact: true };
}

/** Digits that are written in full; a text may leave out the leading zeros. */
export function paddedNumber(field: NumberField, width: number): NumberItem {
  return { kind: "number", field, width, pad: "0", isExact: false };
}

/** RFC 3339, with as much of a fraction as there is. */
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
