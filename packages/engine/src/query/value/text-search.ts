/**
 * Search for one text in another, in time that both lengths add up to.
 *
 * The host's own search is the fastest for a short text; for a long one of few letters it takes the
 * product of both lengths. Many texts are looked for together.
 */

import { grow, PORTION, spendEach, spendLength } from "./effort.ts";

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

/** From so many parts on they are looked for together. */
const TOGETHER_MIN = 8;

/** Whether any of the parts is in the text. */
export function hasAnyText(text: string, parts: readonly string[]): boolean {
  if (parts.length >= TOGETHER_MIN) return new PartSearch(parts).isFoundIn(text);
  return parts.some((part) => {
    spendLength(text.length);
    return findText(text, part) >= 0;
  });
}

/** Rough bytes of one state of a search for many parts. */
const STATE_BYTES = 192;

/** A character in the key of a transition: code units are below it. */
const UNITS = 65_536;

/**
 * Aho and Corasick: all parts at once, and never a character of the text again. A state is a
 * beginning of some parts; `#fallback` names the longest end of it that is a beginning, too.
 */
class PartSearch {
  readonly #next = new Map<number, number>();
  readonly #fallback: number[] = [0];
  readonly #isPart: boolean[] = [false];

  constructor(parts: readonly string[]) {
    for (const part of parts) this.#add(part);
    this.#link();
  }

  isFoundIn(text: string): boolean {
    let state = 0;
    if (this.#isPart[0] === true) return true;
    for (let at = 0; at < text.length; at++) {
      if (at % PORTION === 0) spendEach(2 * PORTION);
      state = this.#step(state, text.charCodeAt(at));
      if (this.#isPart[state] === true) return true;
    }
    return false;
  }

  #add(part: string): void {
    spendEach(4 * (part.length + 1));
    grow(STATE_BYTES * part.length);
    let state = 0;
    for (let at = 0; at < part.length; at++) {
      const key = state * UNITS + part.charCodeAt(at);
      let next = this.#next.get(key);
      if (next === undefined) {
        next = this.#isPart.length;
        this.#isPart.push(false);
        this.#fallback.push(0);
        this.#next.set(key, next);
      }
      state = next;
    }
    this.#isPart[state] = true;
  }

  /** States were made from the shorter to the longer only within a part, so they are put in order. */
  #link(): void {
    const byDepth = this.#transitionsByDepth();
    for (const [count, [state, code, next]] of byDepth.entries()) {
      if (count % PORTION === 0) spendEach(4 * PORTION);
      if (state === 0) continue;
      const fallback = this.#step(this.#fallback[state] as number, code);
      this.#fallback[next] = fallback;
      if (this.#isPart[fallback] === true) this.#isPart[next] = true;
    }
  }

  #transitionsByDepth(): (readonly [state: number, code: number, next: number])[] {
    const from = new Map<number, (readonly [number, number, number])[]>();
    for (const [key, next] of this.#next) {
      const state = Math.floor(key / UNITS);
      const known = from.get(state);
      const transition = [state, key % UNITS, next] as const;
      if (known === undefined) from.set(state, [transition]);
      else known.push(transition);
    }
    const ordered = [...(from.get(0) ?? [])];
    for (let at = 0; at < ordered.length; at++) {
      if (at % PORTION === 0) spendEach(4 * PORTION);
      for (const transition of from.get(ordered[at]?.[2] ?? 0) ?? []) ordered.push(transition);
    }
    return ordered;
  }

  #step(from: number, code: number): number {
    for (let state = from; ; state = this.#fallback[state] as number) {
      const next = this.#next.get(state * UNITS + code);
      if (next !== undefined) return next;
      if (state === 0) return 0;
    }
  }
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
