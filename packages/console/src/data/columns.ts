/**
 * Columns of a table of documents: those that were chosen, or the fields that most documents have.
 */
import { parsePath, pathText } from "../values/names.ts";

export type Row = Readonly<Record<string, unknown>>;

/** So many columns are shown when none were chosen. */
const SHOWN_MAX = 8;

/** All fields of the documents beside `_id`, the most frequent first. */
export function fieldsOf(rows: readonly Row[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      if (name !== "_id") counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts]
    .sort(([aName, a], [bName, b]) => b - a || (aName < bName ? -1 : 1))
    .map(([name]) => name);
}

/** The paths that are columns. */
export function columnsOf(
  rows: readonly Row[],
  chosen: string | undefined,
): readonly (readonly string[])[] {
  const parsed = parseColumns(chosen);
  if (parsed.length > 0) return parsed;
  return fieldsOf(rows)
    .slice(0, SHOWN_MAX)
    .map((name) => [name]);
}

/** Columns as a value of the address. */
export function formatColumns(columns: readonly (readonly string[])[]): string {
  return columns.map(pathText).join(",");
}

function parseColumns(text: string | undefined): readonly (readonly string[])[] {
  if (text === undefined || text === "") return [];
  return text.split(/,(?=(?:[^`]*`[^`]*`)*[^`]*$)/).flatMap((part) => {
    const path = parsePath(part);
    return path === undefined ? [] : [path];
  });
}
