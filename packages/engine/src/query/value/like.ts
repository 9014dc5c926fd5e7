/**
 * LIKE and ILIKE: `%` stands for any text, `_` for any one character, all else for itself.
 *
 * A pattern is cut at its `%` into pieces. The first piece must begin the text, the last must end it,
 * and each one between is taken where it is first found: taking a later place could only leave less
 * text for the rest, so nothing is ever tried twice.
 */

import { grow, PORTION, spendEach } from "./effort.ts";
import { isOneCharacter, unitsOf } from "./text-length.ts";
import { type Search, searchFor } from "./text-search.ts";

export interface LikeOptions {
  /** One character; the one after it in a pattern stands for itself. */
  readonly escape?: string;
  /** ILIKE: letters that differ in case only are the same. */
  readonly isCaseBlind: boolean;
}

export type Matcher = (text: string) => boolean;

/** How much more work a character of a pattern is than one of a text. */
const PATTERN_WEIGHT = 16;

/** A piece of a pattern, by code points: ANY_ONE stands for `_`. */
type Codes = readonly number[];

const ANY_ONE = -1;

/** What matches a piece. Positions are in code units, and always between two code points. */
interface Piece {
  /** The end of the piece when it stands at the position, or -1. */
  endAt(text: string, position: number): number;
  /** The end of the piece where it is first found from the position on, or -1. */
  endAfter(text: string, position: number): number;
  /** Whether the text ends with the piece, from the position or later. */
  endsText(text: string, position: number): boolean;
}

/** A piece with `_` in it takes work for each character of a text; a longer one takes too much. */
const OPEN_PIECE_LENGTH_MAX = 1000;

/** A pattern is made ready as a whole, and kept. */
const PATTERN_LENGTH_MAX = 256 * 1024;

/** Rough bytes that a character of a long pattern takes. */
const CODE_BYTES = 64;
const SHORT_LENGTH = 1024;

/**
 * The matcher of a pattern, or undefined when the pattern is not valid or too long. A pattern that ends
 * with its escape character, which has nothing to escape, matches nothing.
 */
export function compileLike(pattern: string, options: LikeOptions): Matcher | undefined {
  if (pattern.length > PATTERN_LENGTH_MAX) return undefined;
  if (options.escape !== undefined && !isOneCharacter(options.escape)) return undefined;
  spendEach(PATTERN_WEIGHT * pattern.length);
  if (pattern.length > SHORT_LENGTH) grow(CODE_BYTES * pattern.length);
  const parts = parseLike(pattern, options.escape);
  if (parts === undefined) return () => false;
  if (!options.isCaseBlind) return compileParts(parts);
  const matches = compileParts(parts.map((codes) => codes.map(foldCode)));
  return matches && ((text) => matches(foldCase(text)));
}

/**
 * Text that every match begins with, when there is any: `abc` for `abc%`, `abc_` and `abc%d`. Not
 * for ILIKE.
 */
export function likePrefix(pattern: string, escape?: string): string | undefined {
  if (escape !== undefined && !isOneCharacter(escape)) return undefined;
  const [first] = parseLike(pattern, escape) ?? [];
  if (first === undefined) return undefined;
  const end = first.indexOf(ANY_ONE);
  const prefix = textOf(end < 0 ? first : first.slice(0, end));
  return prefix === "" ? undefined : prefix;
}

/** The pieces between the `%`; undefined when an escape character has nothing to escape. */
function parseLike(pattern: string, escape: string | undefined): Codes[] | undefined {
  const parts: Codes[] = [];
  let piece: number[] = [];
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped) {
      piece.push(codeOf(character));
      isEscaped = false;
    } else if (character === escape) {
      isEscaped = true;
    } else if (character === "%") {
      parts.push(piece);
      piece = [];
    } else {
      piece.push(character === "_" ? ANY_ONE : codeOf(character));
    }
  }
  parts.push(piece);
  return isEscaped ? undefined : parts;
}

function compileParts(parts: readonly Codes[]): Matcher | undefined {
  const [first = [], ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return compileWhole(first);
  const middle = rest.filter((codes) => codes.length > 0);
  if (middle.some((codes) => codes.includes(ANY_ONE) && codes.length > OPEN_PIECE_LENGTH_MAX)) {
    return undefined;
  }
  return compileCut(first, middle, last);
}

/** No `%`: the piece is the text. */
function compileWhole(codes: Codes): Matcher {
  if (!codes.includes(ANY_ONE)) {
    const literal = textOf(codes);
    return (text) => text === literal;
  }
  const piece = pieceOf(codes);
  return (text) => piece.endAt(text, 0) === text.length;
}

/** How much more work a piece is than a character. */
const PIECE_WEIGHT = 4;

function compileCut(first: Codes, middle: readonly Codes[], last: Codes): Matcher {
  const start = pieceOf(first);
  const end = pieceOf(last);
  if (middle.length === 0) {
    if (last.length === 0) return (text) => start.endAt(text, 0) >= 0;
    if (first.length === 0) return (text) => end.endsText(text, 0);
  }
  const between = middle.map(pieceOf);
  return (text) => {
    let position = start.endAt(text, 0);
    spendEach(PIECE_WEIGHT * between.length);
    for (const piece of between) {
      if (position < 0) return false;
      position = piece.endAfter(text, position);
    }
    return position >= 0 && end.endsText(text, position);
  };
}

function pieceOf(codes: Codes): Piece {
  return codes.includes(ANY_ONE) ? openPiece(codes) : literalPiece(textOf(codes));
}

function literalPiece(literal: string): Piece {
  const { length } = literal;
  const search = searchFor(literal);
  return {
    endAt: (text, position) => (text.startsWith(literal, position) ? position + length : -1),
    endAfter: (text, position) => {
      const found = search(text, position);
      return found < 0 ? -1 : found + length;
    },
    endsText: (text, position) => text.length - length >= position && text.endsWith(literal),
  };
}

/** A piece with `_` in it. */
function openPiece(codes: Codes): Piece {
  const endAt = (text: string, position: number): number => {
    let at = position;
    for (const code of codes) {
      const found = text.codePointAt(at);
      if (found === undefined || (code !== ANY_ONE && code !== found)) return -1;
      at += unitsOf(found);
    }
    return at;
  };
  // Only pieces between two % are searched for, and only their length is bounded.
  let search: Search | undefined;
  return {
    endAt,
    endAfter: (text, position) => {
      search ??= openSearch(codes);
      return search(text, position);
    },
    endsText: (text, position) => {
      const at = stepBack(text, codes.length);
      return at >= position && endAt(text, at) === text.length;
    },
  };
}

const WORD_BITS = 32;

/** Words of a state that take as long as to read a character. */
const WORDS_PER_CHARACTER = 4;

/**
 * Finds the end of a piece at all places at once: bit n of the state says whether the last n + 1
 * characters are the beginning of the piece. Each character moves the bits up by one and keeps those
 * for which it is the next one.
 */
function openSearch(codes: Codes): Search {
  const wordCount = Math.ceil(codes.length / WORD_BITS);
  const masks = masksOf(codes, wordCount);
  const otherwise = masks.get(ANY_ONE) ?? new Uint32Array(wordCount);
  const lastBit = 1 << ((codes.length - 1) % WORD_BITS);
  return (text, position) => {
    const state = new Uint32Array(wordCount);
    let at = position;
    let counted = position;
    while (at < text.length) {
      if (at >= counted) {
        spendEach((1 + wordCount / WORDS_PER_CHARACTER) * PORTION);
        counted += PORTION;
      }
      const code = text.codePointAt(at) ?? 0;
      const mask = masks.get(code) ?? otherwise;
      at += unitsOf(code);
      let carry = 1;
      for (let i = 0; i < wordCount; i++) {
        const word = state[i] ?? 0;
        state[i] = ((word << 1) | carry) & (mask[i] ?? 0);
        carry = word >>> (WORD_BITS - 1);
      }
      if (((state[wordCount - 1] ?? 0) & lastBit) !== 0) return at;
    }
    return -1;
  };
}

/** For each character the places of the piece where it may stand; ANY_ONE is for all others. */
function masksOf(codes: Codes, wordCount: number): Map<number, Uint32Array> {
  const open = new Uint32Array(wordCount);
  const masks = new Map([[ANY_ONE, open]]);
  for (const [place, code] of codes.entries()) if (code === ANY_ONE) setBit(open, place);
  for (const [place, code] of codes.entries()) {
    const mask = masks.get(code) ?? open.slice();
    setBit(mask, place);
    masks.set(code, mask);
  }
  return masks;
}

function setBit(mask: Uint32Array, place: number): void {
  const word = Math.floor(place / WORD_BITS);
  mask[word] = (mask[word] ?? 0) | (1 << (place % WORD_BITS));
}

/** Where the last `count` code points of a text begin; -1 when it has fewer. */
function stepBack(text: string, count: number): number {
  let at = text.length;
  for (let steps = 0; steps < count; steps++) {
    if (at <= 0) return -1;
    const isPair = at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff;
    at -= isPair ? 2 : 1;
  }
  return at;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function textOf(codes: Codes): string {
  let text = "";
  for (const code of codes) text += String.fromCodePoint(code);
  return text;
}

/** A form that is the same for texts that differ in case only; as many characters as before. */
function foldCase(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  const known = new Map<string, string>();
  let folded = "";
  let count = 0;
  grow(2 * text.length);
  for (const character of text) {
    if (count++ % PORTION === 0) spendEach(4 * PORTION);
    let other = known.get(character);
    if (other === undefined) {
      other = foldCharacter(character);
      known.set(character, other);
    }
    folded += other;
  }
  return folded;
}

function foldCode(code: number): number {
  return code === ANY_ONE ? code : codeOf(foldCharacter(String.fromCodePoint(code)));
}

/** The dotless i has the capital of another letter, and is not that letter. */
const DOTLESS_I = "\u0131";

/**
 * Through upper case, so that letters with one capital meet (σ and ς, the Kelvin sign and k). One
 * character at a time, for `_` counts them: ß stays ß and does not become two.
 */
function foldCharacter(character: string): string {
  if (character === DOTLESS_I) return character;
  const upper = character.toUpperCase();
  const lower = (isOneCharacter(upper) ? upper : character).toLowerCase();
  return isOneCharacter(lower) ? lower : character;
}
