/**
 * Trimming: characters of a set taken off the ends of a text.
 */

import { isLowSurrogate } from "../value/text-length.ts";

export type TrimSide = "start" | "end" | "both";

/** What Unicode calls white space. All of it lies in the first plane. */
const SPACES: ReadonlySet<string> = new Set(
  "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
);

/** Without a set, white space goes. */
export function trimText(text: string, set: string | undefined, side: TrimSide): string {
  const unwanted = set === undefined ? SPACES : new Set(set);
  const start = side === "end" ? 0 : skipForward(text, unwanted);
  const end = side === "start" ? text.length : skipBackward(text, unwanted, start);
  return text.slice(start, end);
}

function skipForward(text: string, unwanted: ReadonlySet<string>): number {
  let offset = 0;
  while (offset < text.length) {
    const character = String.fromCodePoint(text.codePointAt(offset) ?? 0);
    if (!unwanted.has(character)) break;
    offset += character.length;
  }
  return offset;
}

function skipBackward(text: string, unwanted: ReadonlySet<string>, start: number): number {
  let offset = text.length;
  while (offset > start) {
    const character = lastCharacter(text, offset);
    if (!unwanted.has(character)) break;
    offset -= character.length;
  }
  return offset;
}

function lastCharacter(text: string, end: number): string {
  return text.slice(isLowSurrogate(text.charCodeAt(end - 1)) ? end - 2 : end - 1, end);
}
