/**
 * LIKE and ILIKE: compiles patterns in which `%` matches any text and `_` any one character.
 *
 * The pattern is split at `%` into pieces. The first piece must begin the text, the last must end
 * it, and each one between matches at its first occurrence. A later occurrence could only leave
 * less text for the rest, so there is no backtracking.
 */

import { grow, PORTION, spendEach } from "./cost-meter.ts";
import { isOneCharacter, unitsOf } from "./text-length.ts";
import { type Search, searchFor } from "./text-search.ts";

export interface LikeOptions {
  /** Escape character; the character after it in a pattern stands for itself. */
  readonly escape?: string;
  /** ILIKE: ignores case. */
  readonly isCaseBlind: boolean;
}

export type Matcher = (text: string) => boolean;

/** Cost of a character of a pattern, relative to one of a text. */
const PATTERN_WEIGHT = 16;

/** A piece of a pattern as code points: ANY_ONE stands for `_`. */
type Codes = readonly number[];

const ANY_ONE = -1;

/** Matcher of a piece. Positions are in code units, always between two code points. */
interface Piece {
  /** End of the piece if it matches at the position, or -1. */
  endAt(text: string, position: number): number;
  /** End of the first match at or after the position, or -1. */
  endAfter(text: string, position: number): number;
  /** Whether the text ends with the piece, at or after the position. */
  endsText(text: string, position: number): boolean;
}

/** Maximum length of a piece with `_`: its cost per character of text grows with its length. */
const OPEN_PIECE_LENGTH_MAX = 1000;

/** Maximum length of a pattern, which is compiled as a whole and cached. */
const PATTERN_LENGTH_MAX = 256 * 1024;

/** Approximate bytes per character of a long pattern. */
const CODE_BYTES = 64;
const SHORT_LENGTH = 1024;

/**
 * Compiles a pattern; undefined if it is invalid or too long. A pattern that ends with its escape
 * character matches nothing.
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

/** Prefix of every match, if there is one: `abc` for `abc%`, `abc_` and `abc%d`. Not for ILIKE. */
export function likePrefix(pattern: string, escape?: string): string | undefined {
  if (escape !== undefined && !isOneCharacter(escape)) return undefined;
  const [first] = parseLike(pattern, escape) ?? [];
  if (first === undefined) return undefined;
  const end = first.indexOf(ANY_ONE);
  const prefix = textOf(end < 0 ? first : first.slice(0, end));
  return prefix === "" ? undefined : prefix;
}

/** Splits a pattern at `%`; undefined if it ends with the escape character. */
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

/** Compiles a pattern without `%`: the piece must match the whole text. */
function compileWhole(codes: Codes): Matcher {
  if (!codes.includes(ANY_ONE)) {
    const literal = textOf(codes);
    return (text) => text === literal;
  }
  const piece = pieceOf(codes);
  return (text) => piece.endAt(text, 0) === text.length;
}

/** Cost of a piece, relative to a character. */
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

/** Compiles a piece that contains `_`. */
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
  // Only pieces between two % need a search, and only their length is limited.
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

/** Words of state that cost as much as reading a character. */
const WORDS_PER_CHARACTER = 4;

/**
 * Bit-parallel search (Shift-And): bit n of the state says whether the last n + 1 characters match
 * the beginning of the piece. Each character shifts the bits and keeps those that it continues.
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

/** For each character, the positions of the piece that it matches; ANY_ONE is for all others. */
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

/** Offset of the last `count` code points of a text; -1 if it has fewer. */
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

/** Case-folds a text without changing its number of characters. */
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

/** Excluded from folding: the dotless i shares its capital with another letter. */
const DOTLESS_I = "\u0131";

/**
 * Folds through upper case, so that letters with one capital are equal (σ and ς, the Kelvin sign
 * and k). One character at a time, because `_` counts them: ß stays ß.
 */
function foldCharacter(character: string): string {
  if (character === DOTLESS_I) return character;
  const upper = character.toUpperCase();
  const lower = (isOneCharacter(upper) ? upper : character).toLowerCase();
  return isOneCharacter(lower) ? lower : character;
}
