/**
 * Sent rows: the rows of a result as messages between a worker and a page.
 *
 * Rows are sent as JSON text, which a browser copies and reads in a third of the time of objects.
 * Large results are sent in parts: the page reads one while the worker writes the next. Values that
 * JSON does not have, such as binary data, make their part one of objects.
 */

import { isArray, type Value } from "@bigpeer/protocol";
import { type PlainValue, plainCopy } from "../plain-value.ts";

/** A part of the rows, in their order. */
export type SentRows = string | readonly PlainValue[];

/** Characters of a part, about. */
const PART_SIZE = 256 * 1024;

/** Rows of the first part, whose size is not known, and how much larger the next one may be. */
const FIRST_ROWS = 16;
const GROWTH_MAX = 16;

/** All rows in parts, at least one. The rows belong to the peer: they are not changed or kept. */
export function* partsOf(rows: readonly Value[]): Generator<SentRows, void> {
  let count = FIRST_ROWS;
  let start = 0;
  do {
    const part = sentRows(rows.slice(start, start + count));
    yield part;
    start += count;
    if (typeof part === "string") count = nextCount(count, part.length);
  } while (start < rows.length);
}

/** Rows of one part, as values of the app. */
export function rowsFrom(part: SentRows): PlainValue[] {
  return typeof part === "string" ? (JSON.parse(part) as PlainValue[]) : [...part];
}

function nextCount(count: number, size: number): number {
  const times = Math.min(PART_SIZE / size, GROWTH_MAX);
  return Math.max(1, Math.floor(count * times));
}

function sentRows(rows: readonly Value[]): SentRows {
  const text = rows.every(isJson) ? jsonOf(rows) : undefined;
  return text ?? rows.map(plainCopy);
}

/** Undefined if no text can be that long. */
function jsonOf(rows: readonly Value[]): string | undefined {
  try {
    return JSON.stringify(rows);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Whether JSON has this value: no binary data, large integers, NaN, infinity and negative zero. */
function isJson(value: Value): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && (value !== 0 || 1 / value > 0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (isArray(value)) return value.every(isJson);
  if (value instanceof Uint8Array) return false;
  for (const field in value) if (!isJson(value[field] as Value)) return false;
  return true;
}
