/**
 * Kept rows: gives the rows of a new result the objects of the last one where they are equal, so
 * that a memoised component renders again only for rows that changed.
 */

import { isSameValue, valueKey } from "./value-key.ts";

/** The last array itself if nothing changed. Rows that moved keep their objects, too. */
export function keepRows<T>(last: readonly T[], next: readonly T[]): readonly T[] {
  const rows = [...next];
  let start = 0;
  while (start < rows.length && keep(last, start, rows, start)) start++;
  if (start === rows.length && start === last.length) return last;
  let [from, to] = [last.length, rows.length];
  while (from > start && to > start && keep(last, from - 1, rows, to - 1))
    [from, to] = [from - 1, to - 1];
  // Between what is equal at both ends, rows may have moved. Mostly one of them has changed.
  if (to > start && from > start && to + from > 2 * start + 2)
    keepMoved(last.slice(start, from), rows, start, to);
  return rows;
}

function keep<T>(last: readonly T[], from: number, rows: T[], to: number): boolean {
  if (from >= last.length || !isSameValue(last[from], rows[to])) return false;
  rows[to] = last[from] as T;
  return true;
}

function keepMoved<T>(last: readonly T[], rows: T[], start: number, end: number): void {
  const byKey = new Map(last.map((row) => [valueKey(row), row]));
  for (let i = start; i < end; i++) rows[i] = byKey.get(valueKey(rows[i])) ?? (rows[i] as T);
}
