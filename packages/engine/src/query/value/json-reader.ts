/**
 * JsonDatumReader: JSON parser that charges its cost to a meter while it reads a long text.
 *
 * The built-in parser cannot be interrupted; it is faster for short text, see json-text.ts. The
 * reader visits every character once and throws on invalid JSON.
 */

import {
  DEPTH_MAX,
  INTEGER_MAX,
  INTEGER_MIN,
  normalInteger,
  normalNumber,
  setField,
} from "@bigpeer/protocol";
import { type CostMeter, PORTION } from "./cost-meter.ts";
import { type MutableDatumObject, type PresentDatum, toFloat } from "./datum.ts";

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORDS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** Length up to which any integer is exact as a JS number. */
const EXACT_LENGTH_MAX = 15;

/** More characters than an integer of 64 bits has. */
const INTEGER_LENGTH_MAX = 21;

/** Approximate bytes of a container, of a value in it, and of a field. */
const CONTAINER_BYTES = 64;
const PART_BYTES = 24;
const FIELD_BYTES = 64;

/** Values between two charges. Each costs a step: half a microsecond, with garbage collection. */
const VALUES_COUNTED = 256;

/** Characters of a text or a number per step, and blanks per step. */
const LENGTH_PER_STEP = 256;
const SPACES_PER_STEP = 64;

export class JsonDatumReader {
  readonly #text: string;
  readonly #meter: CostMeter;
  #offset = 0;
  #values = 0;
  #bytes = 0;

  constructor(text: string, meter: CostMeter) {
    this.#text = text;
    this.#meter = meter;
  }

  read(): PresentDatum {
    const datum = this.#value(0);
    this.#skipSpace();
    if (this.#offset < this.#text.length) throw this.#error("the end");
    return datum;
  }

  #value(depth: number): PresentDatum {
    this.#count();
    this.#skipSpace();
    switch (this.#text[this.#offset]) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return this.#string();
      default: {
        const word = this.#word();
        return word === undefined ? this.#number() : word;
      }
    }
  }

  #count(): void {
    this.#bytes += PART_BYTES;
    this.#values++;
    if (this.#values % VALUES_COUNTED !== 0) return;
    this.#meter.step(VALUES_COUNTED);
    this.#meter.borrow(this.#bytes);
    this.#bytes = 0;
  }

  #array(depth: number): PresentDatum {
    const array: PresentDatum[] = [];
    if (this.#isEmpty(depth, "]")) return array;
    do array.push(this.#value(depth + 1));
    while (this.#accept(","));
    if (!this.#accept("]")) throw this.#error('"," or "]"');
    return array;
  }

  #object(depth: number): PresentDatum {
    const object: MutableDatumObject = {};
    if (this.#isEmpty(depth, "}")) return object;
    do {
      this.#skipSpace();
      if (this.#text[this.#offset] !== '"') throw this.#error("a key");
      const key = this.#string();
      if (!this.#accept(":")) throw this.#error('":"');
      this.#bytes += FIELD_BYTES;
      setField(object, key, this.#value(depth + 1));
    } while (this.#accept(","));
    if (!this.#accept("}")) throw this.#error('"," or "}"');
    return object;
  }

  /** Enters a container; whether it is empty. */
  #isEmpty(depth: number, end: string): boolean {
    if (depth >= DEPTH_MAX) throw this.#error(`at most ${DEPTH_MAX} levels`);
    this.#bytes += CONTAINER_BYTES;
    this.#offset++;
    return this.#accept(end);
  }

  #string(): string {
    const start = this.#offset;
    let end = this.#text.indexOf('"', start + 1);
    while (end > 0 && this.#isEscaped(end, start)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) throw this.#error("the end of a string");
    this.#offset = end + 1;
    this.#meter.step((this.#offset - start) / LENGTH_PER_STEP);
    this.#bytes += 2 * (this.#offset - start);
    // The built-in parser handles all escapes and returns a string of its own.
    const text = JSON.parse(this.#text.slice(start, this.#offset)) as string;
    if (!text.isWellFormed()) throw this.#error("well-formed text");
    return text;
  }

  /** Whether an odd number of backslashes precedes a quote. */
  #isEscaped(quote: number, start: number): boolean {
    let at = quote - 1;
    while (at > start && this.#text[at] === "\\") at--;
    return (quote - at) % 2 === 0;
  }

  #word(): boolean | null | undefined {
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#offset)) continue;
      this.#offset += word.length;
      return value;
    }
    return undefined;
  }

  #number(): PresentDatum {
    NUMBER.lastIndex = this.#offset;
    const [literal, fraction, exponent] = NUMBER.exec(this.#text) ?? [];
    if (literal === undefined) throw this.#error("a value");
    this.#offset += literal.length;
    this.#meter.step(literal.length / LENGTH_PER_STEP);
    if (fraction === undefined && exponent === undefined) return integerOf(literal);
    const float = Number(literal);
    if (!Number.isFinite(float)) throw this.#error("a number that a float can hold");
    return toFloat(float);
  }

  #accept(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#offset] !== character) return false;
    this.#offset++;
    return true;
  }

  #skipSpace(): void {
    const text = this.#text;
    const start = this.#offset;
    let offset = start;
    while (isSpace(text.charCodeAt(offset))) {
      offset++;
      if ((offset - start) % PORTION === 0) this.#meter.step(PORTION / SPACES_PER_STEP);
    }
    this.#offset = offset;
  }

  #error(expected: string): SyntaxError {
    return new SyntaxError(`expected ${expected} at offset ${this.#offset}`);
  }
}

/** Whether a code is JSON white space; NaN, past the end of the text, is not. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function integerOf(literal: string): number | bigint {
  if (literal.length <= EXACT_LENGTH_MAX) return Number(literal);
  if (literal.length > INTEGER_LENGTH_MAX) return normalNumber(Number(literal));
  const integer = BigInt(literal);
  if (integer === 0n && literal.startsWith("-")) return -0;
  return integer < INTEGER_MIN || integer > INTEGER_MAX
    ? normalNumber(Number(literal))
    : normalInteger(integer);
}
