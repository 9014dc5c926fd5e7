/**
 * Search for one text in another, in time that both lengths add up to.
 *
 * The host's own search is the fastest for a short text; for a long one of few letters it takes the
 * product of both lengths.
 */

import { PORTION, spendEach } from "./effort.ts";

/** Where something is found from the position on, or -1. */
export type Search = (text: string, position: number) => number;

const HOST_SEARCH_LENGTH_MAX = 200;

export function searchFor(literal: string): Search {
  return literal.length > HOST_SEARCH_LENGTH_MAX ? longSearch(literal) : hostSearch(literal);
}

/** As indexOf of the host. */
export function findText(text: string, part: string, position: number = 0): number {
  if (part.length > text.length) return -1;
  return searchFor(part)(text, position);
}

function hostSearch(literal: string): Search {
  return (text, position) => text.indexOf(literal, position);
}

/** Knuth, Morris and Pratt: never looks at a character of the text again. */
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

/** For each length, how much of the end of so long a beginning is again the beginning. */
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
