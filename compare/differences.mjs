/**
 * Intended differences from the reference engine. Each has a reason, which docs/query-language.md
 * also states, and a test of one statement and its two outcomes. The test requires the construct,
 * and a difference of the kind that the reason describes. The construct alone is not enough,
 * because it would hide other differences beside it.
 */
import { textOf } from "./outcome.mjs";

export const DIFFERENCES = [
  {
    name: "more functions",
    reason: "There are more functions: `now`, `uuid`, `replace`, `regexp_replace`, `array_agg`.",
    isIt: refused(/Function "(?:now|uuid|replace|regexp_replace|array_agg)" not found/),
  },
  {
    name: "more queries",
    reason:
      "UNION, queries in FROM, after IN and EXISTS, UNNEST, NULLS FIRST and LAST, and TOMBSTONE are supported.",
    isIt: (given) =>
      /\bUNION\b|\bUNNEST\b|\(SELECT\b|\bNULLS\b|\bTOMBSTONE\b/.test(given.text) &&
      refused(/Unexpected token|is not supported/)(given),
  },
  {
    name: "more names",
    reason: "More keywords are names without backticks: `value`, `any`, `case` and others.",
    isIt: (given) => /\b(?:SELECT|WHERE) value\b/.test(given.text) && refused(/Unexpected/)(given),
  },
  {
    name: "minus before constants",
    reason:
      "A minus before a constant object or array fails, and before a null parameter it gives null; the reference refuses the statement.",
    isIt: (given) =>
      /-\((?:[[{]|:nothing)/.test(given.text) && refused(/-\((?:[[{]|:).* is not supported/)(given),
  },
  {
    name: "constant keys",
    reason: "A constant that is the key of an object is text; in the reference the object is null.",
    isIt: ({ ours, reference }) =>
      /the key of an object is a string/.test(ours.message) && reference.error === undefined,
  },
  {
    name: "filters are columns",
    reason:
      "A filter keeps the rows for which its condition, selected as a column, is true. In the reference, a constant or an array in a condition can make the two differ (`NOT (b OR true)` keeps every row).",
    isIt: ({ filter }) =>
      filter?.column !== undefined &&
      filter.ours === filter.column &&
      filter.reference !== filter.column,
  },
  {
    name: "groups of no rows",
    reason: "Without rows, GROUP BY makes no groups.",
    isIt: ({ text, ours, reference }) =>
      /GROUP BY/.test(text) &&
      ours.items?.length === 0 &&
      reference.items?.length === 1 &&
      Object.values(reference.items[0]).every((value) => value === 0),
  },
  {
    name: "a key that fails",
    reason: "A row whose group key fails is in the group of MISSING: no row is lost.",
    isIt: (given) =>
      /GROUP BY (?:i % 2|char_length\(s\))/.test(given.text) &&
      isSame(given, (row) => (Object.hasOwn(row, "key") ? row : undefined)),
  },
  {
    name: "UNSET below nothing",
    reason:
      "UNSET below an absent map or below a scalar writes nothing; the reference makes an empty map.",
    isIt: (given) => /UNSET \w+\.\w+/.test(given.text) && isSame(given, withoutEmptyMaps),
  },
  {
    name: "local difference of an empty object",
    reason: "DO UPDATE_LOCAL_DIFF writes an empty object over a value of another type.",
    isIt: (given) => /\{\}.*DO UPDATE_LOCAL_DIFF/.test(given.text) && isOverwritten(given),
  },
  {
    name: "split",
    reason:
      "`split` keeps empty pieces at both ends. An empty separator gives the characters, without an empty piece at the end.",
    isIt: (given) => /\bsplit\(/.test(given.text) && isSame(given, withoutEmptyTexts),
  },
  {
    name: "nanoseconds",
    reason:
      "`duration_format` shows whole nanoseconds, no minus before zero, and fails for NaN and infinity; the reference shows all digits of the float.",
    isIt: (given) =>
      /\bduration_format\(/.test(given.text) &&
      changes(given, (ours, reference) => isRounded(ours["v"], reference["v"])),
  },
  {
    name: "a step of nothing",
    reason:
      "`date_range` with a step of less than one unit fails, with a warning; in the reference it is empty.",
    isIt: (given) =>
      /\bdate_range\(/.test(given.text) &&
      changes(given, (ours, reference) => isFailure(ours) && textOf(reference["v"]) === "[]"),
  },
  {
    name: "equality of 1 and 1.0",
    reason: "1 and 1.0 are equal in simple CASE, `nullif` and `missingif` as they are for `=`.",
    isIt: (given) =>
      (isColumn(given, /nullif\(|missingif\(/) &&
        changes(
          given,
          ({ v = null }, reference) => v === null && isNumberInside(reference["v"]),
        )) ||
      (isColumn(given, /\(CASE (?!WHEN)/) &&
        changes(given, (ours, reference) => !isFailure(ours) && !isFailure(reference))),
  },
  {
    name: "ANY goes on",
    reason:
      "An element whose condition has no value does not end ANY: the other elements are still tested.",
    isIt: (given) =>
      (isColumn(given, /\(ANY (?!AND)/) &&
        changes(given, (ours, reference) => ours["v"] === true && reference["v"] === false)) ||
      (/WHERE \(ANY (?!AND)/.test(given.text) && isSuperset(given)),
  },
  {
    name: "WITHIN goes on",
    reason:
      "WITHIN visits every element of a comprehension; in the reference it visits only those for which WHEN is true.",
    isIt: (given) =>
      isColumn(given, /\((?:ARRAY|OBJECT) .* WITHIN .* WHEN /) &&
      changes(given, (ours, reference) => isPart(reference["v"], ours["v"])),
  },
  {
    name: "null IN a failure",
    reason:
      "`null IN x` is null and `missing IN x` is MISSING, even if `x` fails; in the reference, a failing call in `x` makes both fail.",
    isIt: (given) =>
      isColumn(given, /\(.* IN [a-z_]+\(/) &&
      changes(given, ({ v = null }, reference) => v === null && isFailure(reference)),
  },
  {
    name: "trims of nothing",
    reason:
      "A trim with an empty set of characters removes nothing; in the reference it removes white space.",
    isIt: (given) =>
      /trim\(.*''/i.test(given.text) && isSame(given, (row) => textOf(row).replaceAll(/\s/g, "")),
  },
  {
    name: "long ranges",
    reason:
      "The expressions of one row may take 75 ms. A `date_range` over decades in hours can exceed that.",
    isIt: ({ text, ours }) => /\bdate_range\(/.test(text) && ours.error === "query.timeout",
  },
  {
    name: "AND hides a failure",
    reason:
      "`false AND x` is false for every `x`, on either side; in the reference, a failure on the left wins over false, and so does the word `missing`.",
    isIt: (given) =>
      (isColumn(given, /\(.* AND /) &&
        changes(given, (ours, reference) => ours["v"] === false && !("v" in reference))) ||
      (/\bAND missing\b|\bmissing AND\b/.test(given.text) &&
        (isSame(given, withoutFalse) || isSuperset(given))),
  },
  {
    name: "whole floats as integers",
    reason:
      "A whole float is accepted where an integer is expected (`repeat('a', 2.0)`): JSON has one number type, and clients send 2 for 2.0.",
    isIt: (given) =>
      isColumn(given, INTEGER_PLACES) &&
      WHOLE_FLOATS.test(given.text) &&
      changes(given, (ours, reference) => !isFailure(ours) && isFailure(reference)),
  },
];

const INTEGER_PLACES =
  /(?:round|substr|substring|SUBSTRING|repeat|lpad|rpad|array_flatten|array_insert|array_replace)\(|\(.*\)\[j\]/;

/** Constructs that produce floats, which may be whole numbers. */
const WHOLE_FLOATS =
  /\d\.\d|\d\/|\de\d|:float|\bf\b|\b(?:ceil|floor|round|degrees|radians|duration_cast|a?(?:sin|cos|tan)h?)\(|FLOAT|'float'/;

/** The reference refuses the statement with such a message, and Big Peer accepts it. */
function refused(message) {
  return ({ ours, reference }) =>
    ours.error === undefined && reference.error !== undefined && message.test(reference.message);
}

/** The statement selects an expression that begins like this as the column `v`. */
function isColumn({ text }, beginning) {
  return new RegExp(`^SELECT _id, (?:${beginning.source})`).test(text);
}

/** Both outcomes have the same rows and ids after `change` of each row; undefined drops the row. */
function isSame({ ours, reference }, change) {
  if (ours.items === undefined || reference.items === undefined) return false;
  const text = ({ items, ids = [] }) =>
    [...items.map(change).filter((row) => row !== undefined), ...ids]
      .map(textOf)
      .toSorted()
      .join("\n");
  return text(ours) === text(reference);
}

/** Both have rows of the same documents, and unequal rows differ in this way. */
function changes({ ours, reference }, isChange) {
  if (ours.items?.length !== reference.items?.length) return false;
  const others = new Map(reference.items?.map((row) => [row?.["_id"], row]));
  return (ours.items ?? []).every((row) => {
    const other = others.get(row?.["_id"]);
    if (!isObject(row) || !isObject(other)) return false;
    return textOf(row) === textOf(other) || isChange(row, other);
  });
}

/** Big Peer has all rows of the reference, and more. */
function isSuperset({ ours, reference }) {
  const rows = new Set(ours.items?.map(textOf));
  return (
    reference.items?.every((row) => rows.has(textOf(row))) === true &&
    rows.size > reference.items.length
  );
}

/** All elements of one array or object are in the other. */
function isPart(part, whole) {
  if (typeof part !== "object" || typeof whole !== "object") return false;
  const elements = Object.values(whole ?? {}).map(textOf);
  return Object.values(part ?? {}).every((element) => elements.includes(textOf(element)));
}

/** The row of a failed expression, which has only the id. */
function isFailure(row) {
  return Object.keys(row).join() === "_id";
}

function withoutEmptyMaps(row) {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => !isObject(value) || Object.keys(value).length > 0),
  );
}

/** Big Peer wrote an empty object, or wrote at all, where the reference did not. */
function isOverwritten(given) {
  const { ours, reference } = given;
  const ids = (ours.ids ?? []).map(textOf);
  if ((reference.ids ?? []).some((id) => !ids.includes(textOf(id)))) return false;
  if (ids.length > (reference.ids ?? []).length) return true;
  return changes(given, (row, other) =>
    Object.keys(row).every(
      (key) => textOf(row[key]) === "{}" || textOf(row[key]) === textOf(other[key]),
    ),
  );
}

/** Replaces false inside a value by null, which the reference has there. */
function withoutFalse({ _id, v }) {
  return [_id, JSON.parse(JSON.stringify(v ?? null, (_, part) => (part === false ? null : part)))];
}

function withoutEmptyTexts(value) {
  if (Array.isArray(value)) return value.filter((part) => part !== "").map(withoutEmptyTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "")
      .map(([key, part]) => [key, withoutEmptyTexts(part)]),
  );
}

/** Durations are within a nanosecond, or Big Peer has none where the reference shows NaN or inf. */
function isRounded(ours, reference) {
  if (ours === undefined) return /^-?(?:NaN|inf)/.test(reference);
  const difference = Math.abs(secondsOf(ours) - secondsOf(reference));
  return difference <= 1e-9 + 1e-12 * Math.abs(secondsOf(reference));
}

function secondsOf(duration) {
  const parts = /^(-?)(?:(\d+)h)?(?:(\d+)m)?(\d+(?:\.\d+)?)s$/.exec(duration);
  if (parts === null) return Number.NaN;
  const [, sign, hours = 0, minutes = 0, seconds] = parts;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return sign === "-" ? -total : total;
}

function isNumberInside(value) {
  return /\d/.test(textOf(value)) && typeof value !== "string";
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Finds the listed difference that explains these outcomes. */
export function findDifference(given) {
  return DIFFERENCES.find(({ isIt }) => isIt(given));
}
