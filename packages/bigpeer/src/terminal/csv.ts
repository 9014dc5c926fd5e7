/**
 * CSV: writes rows as RFC 4180 says, with nested objects as dotted names.
 *
 * A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula. Such text gets an
 * apostrophe in front, which the import removes again. Numbers are not text and stay as they are.
 */

import { isObject, stringifyJson, type Value, type ValueObject } from "@bigpeer/protocol";

const FORMULA = /^'*[=+\-@\t\r]/;
const QUOTED = /["\r\n,]|^\s|\s$/;

/** Path of each value of a row, such as `address.city`. */
export function flatten(row: ValueObject, prefix = ""): Map<string, Value> {
  const cells = new Map<string, Value>();
  for (const [name, value] of Object.entries(row)) {
    const path = prefix + name.replaceAll(/[\\.]/g, "\\$&");
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [inner, cell] of flatten(value, `${path}.`)) cells.set(inner, cell);
    } else cells.set(path, value);
  }
  return cells;
}

export function csvLine(cells: readonly (Value | undefined)[]): string {
  return `${cells.map(cellText).join(",")}\n`;
}

function cellText(value: Value | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return quote(plainText(value));
  // Text that a reader would take for another type is quoted.
  return quote(
    safe(value),
    value === "" || /^(?:null|true|false|[-+]?[\d.].*|[[{].*)$/.test(value),
  );
}

function plainText(value: Value): string {
  return stringifyJson(value);
}

/** Text that no spreadsheet runs. */
export function safe(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The inverse of safe. */
export function unsafe(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text;
}

function quote(text: string, isAlways = false): string {
  return isAlways || QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
