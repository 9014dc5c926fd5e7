/**
 * Substring search in time linear in both lengths.
 *
 * The built-in search is the fastest for short patterns. For a long pattern of few distinct letters
 * it takes time in proportion to the product of both lengths.
 */

import { PORTION, spendEach } from "./cost-meter.ts";

/** Offset of the first match at or after the position, or -1. */
export type Search = (text: string, position: number) => number;

const HOST_SEARCH_LENGTH_MAX = 200;

export function searchFor(literal: string): Search {
  return literal.length > HOST_SEARCH_LENGTH_MAX ? longSearch(literal) : hostSearch(literal);
}

/** Like indexOf, in linear time. */
export function findText(text: string, part: string, position: number = 0): number {
  if (part.length > text.length) return -1;
  return searchFor(part)(text, position);
}

function hostSearch(literal: string): Search {
  return (text, position) => text.indexOf(literal, position);
}

/** Knuth-Morris-Pratt search: never revisits a character of the text. */
function longSearch(literal: string): Search {
  const borders = bordersOf(literal);
  const codes = codesOf(literal);
  return (text, position) => {
    let matched = 0;
    for (let at = position; at < text.length; at++) {
      if ((at - position) % PORTION === 0) spendEach(PORTION);
      const code = text.charCodeAt(at);
      while (matched > 0 && codes[matched] !== code) matched = borders[matched] as number;
      if (codes[matched] === code) matched++;
      if (matched === codes.length) return at + 1 - matched;
    }
    return -1;
  };
}

function codesOf(text: string): Uint16Array {
  const codes = new Uint16Array(text.length);
  for (let at = 0; at < text.length; at++) codes[at] = text.charCodeAt(at);
  return codes;
}

/** For each prefix length, the longest proper suffix of that prefix that is also a prefix. */
function bordersOf(literal: string): Uint32Array {
  const borders = new Uint32Array(literal.length + 1);
  let border = 0;
  for (let length = 1; length < literal.length; length++) {
    if (length % PORTION === 0) spendEach(PORTION);
    const code = literal.charCodeAt(length);
    while (border > 0 && literal.charCodeAt(border) !== code) border = borders[border] ?? 0;
    if (literal.charCodeAt(border) === code) border++;
    borders[length + 1] = border;
  }
  return borders;
}
