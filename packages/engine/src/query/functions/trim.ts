/**
 * Trim: removes characters of a set from the ends of a text.
 */

import { PORTION, spendEach } from "../value/cost-meter.ts";
import { unitsOf } from "../value/text-length.ts";
import { WHITE_SPACE } from "../value/white-space.ts";

export type TrimSide = "start" | "end" | "both";

/** Trims text; the default set is white space. */
export function trimText(text: string, set: string | undefined, side: TrimSide): string {
  const unwanted = set === undefined ? WHITE_SPACE : codesOf(set);
  const start = side === "end" ? 0 : skipForward(text, unwanted);
  const end = side === "start" ? text.length : skipBackward(text, unwanted, start);
  return text.slice(start, end);
}

/** Set of the characters of a text. */
function codesOf(text: string): Set<number> {
  const codes = new Set<number>();
  for (let offset = 0; offset < text.length; ) {
    const code = text.codePointAt(offset) ?? 0;
    codes.add(code);
    offset = counted(offset, unitsOf(code));
  }
  return codes;
}

function skipForward(text: string, unwanted: ReadonlySet<number>): number {
  let offset = 0;
  while (offset < text.length) {
    const code = text.codePointAt(offset) ?? 0;
    if (!unwanted.has(code)) break;
    offset = counted(offset, unitsOf(code));
  }
  return offset;
}

function skipBackward(text: string, unwanted: ReadonlySet<number>, start: number): number {
  let left = text.length - start;
  while (left > 0) {
    const code = lastCode(text, start + left);
    if (!unwanted.has(code)) break;
    left = counted(left, -unitsOf(code));
  }
  return start + left;
}

/** Moves an offset; charges the work a portion at a time. */
function counted(offset: number, units: number): number {
  const next = offset + units;
  if (Math.floor(next / PORTION) !== Math.floor(offset / PORTION)) spendEach(PORTION);
  return next;
}

function lastCode(text: string, end: number): number {
  const before = text.codePointAt(end - 2) ?? 0;
  return before > 0xffff ? before : text.charCodeAt(end - 1);
}
