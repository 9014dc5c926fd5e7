/**
 * Table: rows as text in columns, for people. Numbers are at the right; a value that is too wide is
 * cut, and a row without a field shows nothing there, unlike null.
 */

import { isObject, stringifyJson, type Value, type ValueObject } from "@bigpeer/protocol";
import type { Style } from "./style.ts";
import { fit, pad, visible, widthOf } from "./width.ts";

const COLUMN_WIDTH_MAX = 60;
const GAP = "  ";

export interface TableOptions {
  readonly style: Style;
  /** Columns of the terminal; undefined for no bound. */
  readonly columns?: number | undefined;
}

interface Column {
  readonly name: string;
  readonly width: number;
  readonly isRight: boolean;
}

/** A line for each row below a line with the names. */
export function tableText(rows: readonly Value[], options: TableOptions): string {
  const objects = rows.map(rowOf);
  const names = [...new Set(objects.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return "";
  const cells = objects.map((row) => names.map((name) => cellText(row, name)));
  const columns = names.map((name, at): Column => {
    const values = objects.map((row) => (Object.hasOwn(row, name) ? row[name] : undefined));
    const widths = cells.map((line) => widthOf(line[at] ?? ""));
    const width = Math.min(COLUMN_WIDTH_MAX, Math.max(widthOf(visible(name)), ...widths));
    return { name: visible(name), width, isRight: values.every(isNumberOrNothing) };
  });
  const { style } = options;
  const head = lineOf(
    columns,
    columns.map(({ name }) => name),
    options,
  );
  const lines = cells.map((line) => lineOf(columns, line, options));
  return [style("bold", head), ...lines].map((line) => `${line}\n`).join("");
}

/** One row as lines `name  value`. */
export function verticalText(rows: readonly Value[], { style, columns }: TableOptions): string {
  return rows
    .map((row, index) => {
      const object = rowOf(row);
      const names = Object.keys(object);
      const width = Math.max(0, ...names.map((name) => widthOf(visible(name))));
      const lines = names.map((name) => {
        const text = cellText(object, name);
        const room = columns === undefined ? Infinity : Math.max(20, columns - width - GAP.length);
        return `${style("bold", pad(visible(name), width))}${GAP}${fit(text, room)}\n`;
      });
      return (index === 0 ? "" : "\n") + lines.join("");
    })
    .join("");
}

function rowOf(value: Value): ValueObject {
  return isObject(value) ? value : { value };
}

function lineOf(
  columns: readonly Column[],
  texts: readonly string[],
  options: TableOptions,
): string {
  const cells = columns.map(({ width, isRight }, at) =>
    pad(fit(texts[at] ?? "", width), width, isRight),
  );
  const line = cells.join(GAP).trimEnd();
  return options.columns === undefined ? line : fit(line, options.columns);
}

function isNumberOrNothing(value: Value | undefined): boolean {
  return (
    value === undefined || value === null || typeof value === "number" || typeof value === "bigint"
  );
}

function cellText(row: ValueObject, name: string): string {
  if (!Object.hasOwn(row, name)) return "";
  const value = row[name] as Value;
  return visible(typeof value === "string" ? value : stringifyJson(value));
}
