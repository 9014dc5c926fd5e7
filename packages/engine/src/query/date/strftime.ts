/**
 * Strftime formats: compiles date formats with percent directives, as in C: `%d/%m/%Y`.
 *
 * Between the sign and the letter may stand the padding of a number (`-` none, `_` blanks, `0`
 * zeros), colons before `z`, and a point or a number of digits before `f`.
 */

import {
  type DateFormat,
  type DateItem,
  ISO_FORMAT,
  literal,
  type NumberField,
  type NumberItem,
  type OffsetItem,
} from "./date-item.ts";

const DIRECTIVE = /%([-_0]?)(:{0,3})(\.?[369]?)([A-Za-z+%])/y;

type Numbers = Readonly<Record<string, readonly [field: NumberField, width: number]>>;

const NUMBERS: Numbers = {
  Y: ["year", 4],
  C: ["century", 2],
  y: ["year_of_century", 2],
  m: ["month", 2],
  d: ["day", 2],
  e: ["day", 2],
  j: ["day_of_year", 3],
  u: ["weekday", 1],
  w: ["weekday_from_sunday", 1],
  U: ["week_from_sunday", 2],
  W: ["week_from_monday", 2],
  G: ["iso_year", 4],
  g: ["iso_year_of_century", 2],
  V: ["iso_week", 2],
  H: ["hour", 2],
  k: ["hour", 2],
  I: ["hour_of_half", 2],
  l: ["hour_of_half", 2],
  M: ["minute", 2],
  S: ["second", 2],
  s: ["epoch", 1],
};

/** Directives that pad with blanks by default. */
const BLANK_PADDED = "ekl";

const OTHERS: Readonly<Record<string, DateItem>> = {
  B: { kind: "name", field: "month", isShort: false },
  b: { kind: "name", field: "month", isShort: true },
  h: { kind: "name", field: "month", isShort: true },
  A: { kind: "name", field: "weekday", isShort: false },
  a: { kind: "name", field: "weekday", isShort: true },
  p: { kind: "half", isLower: false },
  P: { kind: "half", isLower: true },
  Z: { kind: "zone" },
  n: literal("\n"),
  t: literal("\t"),
  "%": literal("%"),
};

/** Directives that stand for a whole format. */
const COMPOUNDS: Readonly<Record<string, string>> = {
  D: "%m/%d/%y",
  x: "%m/%d/%y",
  F: "%Y-%m-%d",
  v: "%e-%b-%Y",
  R: "%H:%M",
  T: "%H:%M:%S",
  X: "%H:%M:%S",
  r: "%I:%M:%S %p",
  c: "%a %b %e %H:%M:%S %Y",
};

const OFFSET_FORMS: readonly OffsetItem["form"][] = ["+hhmm", "+hh:mm", "+hh:mm:ss", "+hh"];

const PADS: Readonly<Record<string, NumberItem["pad"]>> = { "-": "", _: " ", "0": "0" };

/** Compiles a format; undefined if a directive is unknown. */
export function compileStrftime(text: string): DateFormat | undefined {
  const items: DateItem[] = [];
  let position = 0;
  while (position < text.length) {
    const sign = text.indexOf("%", position);
    const end = sign < 0 ? text.length : sign;
    if (end > position) items.push(literal(text.slice(position, end)));
    if (sign < 0) break;
    DIRECTIVE.lastIndex = sign;
    const found = DIRECTIVE.exec(text);
    const meaning = found === null ? undefined : itemsOf(found);
    if (found === null || meaning === undefined) return undefined;
    items.push(...meaning);
    position = sign + found[0].length;
  }
  return items;
}

function itemsOf(found: RegExpExecArray): readonly DateItem[] | undefined {
  const [, pad = "", colons = "", fraction = "", letter = ""] = found;
  const hasExtra = pad !== "" || colons !== "" || fraction !== "";
  const number = numberItem(letter, pad);
  if (number !== undefined) return colons === "" && fraction === "" ? [number] : undefined;
  if (letter === "z") {
    const form = OFFSET_FORMS[colons.length];
    return pad === "" && fraction === "" && form ? [{ kind: "offset", form }] : undefined;
  }
  if (letter === "f") return pad === "" && colons === "" ? [fractionItem(fraction)] : undefined;
  if (hasExtra) return undefined;
  return wholeItems(letter);
}

function wholeItems(letter: string): readonly DateItem[] | undefined {
  if (letter === "+") return ISO_FORMAT;
  const compound = Object.hasOwn(COMPOUNDS, letter) ? COMPOUNDS[letter] : undefined;
  if (compound !== undefined) return compileStrftime(compound);
  const item = Object.hasOwn(OTHERS, letter) ? OTHERS[letter] : undefined;
  return item && [item];
}

function numberItem(letter: string, pad: string): NumberItem | undefined {
  const number = Object.hasOwn(NUMBERS, letter) ? NUMBERS[letter] : undefined;
  if (number === undefined) return undefined;
  const [field, width] = number;
  const usual = BLANK_PADDED.includes(letter) ? " " : "0";
  return { kind: "number", field, width, pad: PADS[pad] ?? usual, isExact: false };
}

function fractionItem(fraction: string): DateItem {
  const hasPoint = fraction.startsWith(".");
  const digits = fraction.slice(hasPoint ? 1 : 0);
  if (digits !== "") return { kind: "fraction", digits: Number(digits), hasPoint };
  // `%f` alone has nine digits; with a point it has as many as needed.
  return hasPoint ? { kind: "fraction", hasPoint } : { kind: "fraction", digits: 9, hasPoint };
}
