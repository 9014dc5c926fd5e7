/**
 * Text lengths and positions: converts between characters, bytes of UTF-8 and units of UTF-16.
 *
 * The language counts characters (code points) or bytes of UTF-8; JavaScript counts units of
 * UTF-16, two for a character beyond the first plane. Long text is charged while it is scanned.
 */

import { PORTION, spendEach } from "./cost-meter.ts";

const HIGH_SURROGATE = 0xd800;
const LOW_SURROGATE = 0xdc00;
const LAST_SURROGATE = 0xdfff;

const NOT_ASCII = /[^\x20-\x7e\n\r\t]/;

/** Length in bytes of UTF-8. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let from = 0; from < text.length; from += PORTION) {
    const to = endOfPortion(text, from);
    // Most portions of a long text are ASCII, which a pattern finds several times as fast.
    if (from > 0 && !NOT_ASCII.test(text.slice(from, to))) continue;
    for (let i = from; i < to; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) continue;
      // Each half of a surrogate pair counts two bytes.
      bytes += unit < 0x800 || isSurrogate(unit) ? 1 : 2;
    }
  }
  return bytes;
}

export function characterCount(text: string): number {
  let count = text.length;
  for (let from = 0; from < text.length; from += PORTION) {
    const to = endOfPortion(text, from);
    for (let i = from; i < to; i++) if (isLowSurrogate(text.charCodeAt(i))) count--;
  }
  return count;
}

/** End of the portion at `from`. The first portion is free: most texts are short. */
function endOfPortion(text: string, from: number): number {
  if (from > 0) spendEach(PORTION);
  return Math.min(from + PORTION, text.length);
}

/** Offset in the JS string of the character with index `count`. */
export function offsetOfCharacter(text: string, count: number): number {
  let left = count;
  let offset = 0;
  while (left > 0 && offset < text.length) {
    if (left % PORTION === PORTION - 1) spendEach(PORTION);
    offset += isHighSurrogate(text.charCodeAt(offset)) ? 2 : 1;
    left--;
  }
  return offset;
}

export function isOneCharacter(text: string): boolean {
  const code = text.codePointAt(0);
  return code !== undefined && text.length === unitsOf(code);
}

/** Number of units of UTF-16 of a code point. */
export function unitsOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

function isSurrogate(unit: number): boolean {
  return unit >= HIGH_SURROGATE && unit <= LAST_SURROGATE;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= HIGH_SURROGATE && unit < LOW_SURROGATE;
}

/** Whether a unit is the second half of a surrogate pair. */
export function isLowSurrogate(unit: number): boolean {
  return unit >= LOW_SURROGATE && unit <= LAST_SURROGATE;
}
