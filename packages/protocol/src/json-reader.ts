/**
 * JsonReader: incremental JSON parser with exact integers and errors with line and column, as a
 * generator that pauses regularly.
 *
 * It keeps its position on a stack of its own. Every character is looked at once, whatever the text
 * is. The content of a string is parsed by the host, which makes a copy: a slice would keep the
 * whole text in memory.
 */

import { type Charge, DecodedSize } from "./decoded-size.ts";
import { PeerError } from "./error.ts";
import {
  DEPTH_MAX,
  INTEGER_MAX,
  INTEGER_MIN,
  type MutableObject,
  normalInteger,
  normalNumber,
  setField,
  type Value,
} from "./value.ts";

export interface JsonLimits {
  /** Nesting levels around values. */
  readonly around?: number;
  /** Fields of one object, repeated ones included: growing an object copies the whole of it. */
  readonly fields?: number;
  /**
   * Whether the result must be a value in normal form: then a number too large for a float and a
   * lone surrogate are refused.
   */
  readonly isValue?: boolean;
  /** Called with the memory that the value takes. */
  readonly charge?: Charge | undefined;
}

/** Parse cost between two pauses, in small integers: a few milliseconds. */
const COST_PER_STEP = 40_000;

/** Parse cost of a list, an object and a string in small integers; text length that costs one. */
const LIST_COST = 6;
const OBJECT_COST = 10;
const STRING_COST = 3;
const LENGTH_PER_COST = 16;

/** A longer string is read in pieces of about this length. */
const PIECE_LENGTH: number = 64 * 1024;

/** Longest slice that the host copies. */
const COPIED_LENGTH_MAX = 12;

/** Digits that a float holds exactly. */
const EXACT_DIGITS = 15;

/** Digits in a row: the host parses all of them without a pause, and no number needs more. */
const DIGITS_MAX: number = 64 * 1024;

/** Whitespace in a row, and characters of a key: they are read without a pause. */
const RUN_LENGTH_MAX: number = 512 * 1024;

const LINE_END = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;

interface ListFrame {
  readonly list: Value[];
  readonly object: undefined;
}

interface ObjectFrame {
  readonly list: undefined;
  readonly object: MutableObject;
  key: string;
  /** Number of fields read so far, repeated ones included. */
  fields: number;
}

type Frame = ListFrame | ObjectFrame;

/** What comes next: a value, the rest of a long string, or nothing. */
type State = "value" | "string" | "end";

export class JsonReader {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #size: DecodedSize;
  readonly #stack: Frame[] = [];
  readonly #levelsMax: number;
  #state: State = "value";
  /** Pieces of a long string that is being read. */
  #pieces: string[] = [];
  #offset = 0;
  #cost = 0;
  /** Lines end only between values. */
  #line = 1;
  /** Bytes per character of the last string. */
  #unitSize = 1;
  #lineStart = 0;
  #value: Value = null;

  constructor(text: string, limits: JsonLimits = {}) {
    this.#text = text;
    this.#limits = limits;
    this.#size = new DecodedSize(limits.charge);
    this.#levelsMax = DEPTH_MAX + (limits.around ?? 0);
  }

  read(): Value {
    const turns = this.readIncremental();
    for (;;) {
      const { done, value } = turns.next();
      if (done === true) return value;
    }
  }

  *readIncremental(): Generator<void, Value> {
    for (;;) {
      this.#cost = COST_PER_STEP;
      while (this.#cost > 0 && this.#state !== "end") {
        if (this.#state === "string") this.#readPiece();
        else this.#readValue();
      }
      if (this.#state === "end") break;
      yield;
    }
    this.#size.settle();
    this.#skipSpace();
    if (this.#offset < this.#text.length) this.#fail("the end");
    return this.#value;
  }

  #readValue(): void {
    this.#skipSpace();
    this.#cost--;
    const first = this.#text.charCodeAt(this.#offset);
    switch (first) {
      case 0x7b: // {
        return this.#openObject();
      case 0x5b: // [
        return this.#openList();
      case QUOTE:
        return this.#beginString();
      case 0x74: // t
        return this.#word("true", true);
      case 0x66: // f
        return this.#word("false", false);
      case 0x6e: // n
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #openObject(): void {
    this.#checkDepth();
    this.#cost -= OBJECT_COST;
    this.#size.object();
    this.#offset++;
    const object: MutableObject = {};
    this.#skipSpace();
    if (this.#accept(0x7d)) return this.#add(object);
    this.#stack.push({ list: undefined, object, key: this.#key(), fields: 1 });
  }

  #openList(): void {
    this.#checkDepth();
    this.#cost -= LIST_COST;
    this.#size.list();
    this.#offset++;
    const list: Value[] = [];
    this.#skipSpace();
    if (this.#accept(0x5d)) return this.#add(list);
    this.#stack.push({ list, object: undefined });
  }

  #checkDepth(): void {
    if (this.#stack.length < this.#levelsMax) return;
    throw this.#error(`expected at most ${DEPTH_MAX} levels of nesting`);
  }

  /** Adds a value to its container, and closes the containers that end after it. */
  #add(value: Value): void {
    let part = value;
    for (;;) {
      const frame = this.#stack.at(-1);
      if (frame === undefined) {
        this.#value = part;
        this.#state = "end";
        return;
      }
      if (frame.object === undefined) {
        this.#size.item(frame.list.length);
        frame.list.push(part);
        this.#skipSpace();
        if (this.#accept(COMMA)) return;
        if (!this.#accept(0x5d)) this.#fail('"," or "]"');
        part = frame.list;
      } else {
        setField(frame.object, frame.key, part);
        this.#skipSpace();
        if (this.#accept(COMMA)) return this.#nextField(frame);
        if (!this.#accept(0x7d)) this.#fail('"," or "}"');
        part = frame.object;
      }
      this.#stack.pop();
    }
  }

  #nextField(frame: ObjectFrame): void {
    const { fields = Number.POSITIVE_INFINITY } = this.#limits;
    if (++frame.fields > fields) {
      throw this.#error(`expected an object of at most ${fields} fields`);
    }
    frame.key = this.#key();
  }

  #key(): string {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#offset) !== QUOTE) this.#fail("a key in double quotes");
    const start = this.#offset + 1;
    const end = this.#endOfText(start, RUN_LENGTH_MAX);
    if (end >= start + RUN_LENGTH_MAX) {
      throw this.#error(`expected a key of fewer than ${RUN_LENGTH_MAX} characters`);
    }
    const key = this.#unescaped(start, end);
    this.#checkText(key);
    this.#size.field(key);
    this.#cost -= STRING_COST + key.length / LENGTH_PER_COST;
    this.#offset = end + 1;
    this.#skipSpace();
    if (!this.#accept(COLON)) this.#fail('":"');
    return key;
  }

  #beginString(): void {
    const start = this.#offset + 1;
    const end = this.#endOfText(start, PIECE_LENGTH);
    this.#cost -= STRING_COST + (end - start) / LENGTH_PER_COST;
    this.#size.text((end - start) * this.#unitSize);
    const string = this.#unescaped(start, end);
    this.#offset = end;
    if (this.#accept(QUOTE)) {
      this.#checkText(string);
      return this.#add(string);
    }
    this.#pieces = [string];
    this.#state = "string";
  }

  /** Reads the next piece of a long string. */
  #readPiece(): void {
    const start = this.#offset;
    const end = this.#endOfText(start, PIECE_LENGTH);
    this.#cost -= (end - start) / LENGTH_PER_COST;
    this.#size.text((end - start) * this.#unitSize);
    this.#pieces.push(this.#unescaped(start, end));
    this.#offset = end;
    if (!this.#accept(QUOTE)) return;
    const string = this.#pieces.join("");
    this.#checkText(string);
    this.#pieces = [];
    this.#state = "value";
    this.#add(string);
  }

  /** The end of the string, or of a piece of at least `length` characters. */
  #endOfText(start: number, length: number): number {
    const text = this.#text;
    const stop = start + length;
    let at = start;
    let units = 0;
    while (at < stop) {
      const unit = text.charCodeAt(at);
      if (unit === QUOTE) break;
      units |= unit;
      if (unit === BACKSLASH) at += text.charCodeAt(at + 1) === 0x75 ? 6 : 2;
      // At the end of the text the unit is NaN, which is not >= 0x20.
      else if (unit >= 0x20) at++;
      else return this.#failInText(start);
    }
    this.#unitSize = units > 0xff ? 2 : 1;
    return at < text.length ? at : this.#failInText(start);
  }

  #checkText(text: string): void {
    if (this.#limits.isValue !== true || text.isWellFormed()) return;
    throw this.#invalid("expected well-formed text, found a lone surrogate");
  }

  /** The text between the quotes. A short one without escapes is copied by the slice itself. */
  #unescaped(start: number, end: number): string {
    const raw = this.#text.slice(start, end);
    if (raw.length <= COPIED_LENGTH_MAX && !raw.includes("\\")) return raw;
    try {
      return JSON.parse(`"${raw}"`) as string;
    } catch {
      return this.#failInText(start);
    }
  }

  /** Throws with the position of the fault in an invalid string. */
  #failInText(start: number): never {
    this.#offset = start;
    for (;;) {
      const unit = this.#text.charCodeAt(this.#offset);
      if (unit === QUOTE || !(unit >= 0x20)) this.#fail("the end of the string");
      this.#offset++;
      if (unit === BACKSLASH) this.#checkEscape();
    }
  }

  #checkEscape(): void {
    const letter = this.#text[this.#offset] ?? "";
    if (letter === "" || !'"\\/bfnrtu'.includes(letter)) this.#fail("an escape");
    this.#offset++;
    if (letter !== "u") return;
    const hex = this.#text.slice(this.#offset, this.#offset + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(hex)) this.#fail("four hexadecimal digits");
    this.#offset += 4;
  }

  #number(): void {
    const start = this.#offset;
    const first = this.#text.charCodeAt(start) === MINUS ? start + 1 : start;
    let end = this.#endOfDigits(first);
    if (end === first) this.#fail("a value");
    // A zero before other digits is a number by itself.
    if (this.#text.charCodeAt(first) === ZERO) end = first + 1;
    const integerEnd = end;
    if (this.#text.charCodeAt(end) === POINT) end = this.#endOfPart(end, end + 1);
    if ((this.#text.charCodeAt(end) | 0x20) === 0x65) {
      const sign = this.#text.charCodeAt(end + 1);
      end = this.#endOfPart(end, end + (sign === 0x2b || sign === MINUS ? 2 : 1));
    }
    this.#offset = end;
    this.#cost -= (end - start) / LENGTH_PER_COST;
    const literal = this.#text.slice(start, end);
    const isLong = end === integerEnd && literal.length > EXACT_DIGITS;
    const number = isLong ? exactInteger(literal) : Number(literal);
    this.#size.scalar(number);
    this.#add(this.#limits.isValue === true ? this.#normal(number) : number);
  }

  /** JSON has no infinity: it was a number too large for a float, and would be returned as null. */
  #normal(number: number | bigint): number | bigint {
    if (typeof number === "bigint") return number;
    if (!Number.isFinite(number)) throw this.#invalid("expected a number that a float can hold");
    return normalNumber(number);
  }

  /** The end of the digits that begin at `from`; `at` if there are none: no part of the number. */
  #endOfPart(at: number, from: number): number {
    const end = this.#endOfDigits(from);
    return end === from ? at : end;
  }

  #endOfDigits(from: number): number {
    const text = this.#text;
    for (let at = from; at <= from + DIGITS_MAX; at++) {
      const unit = text.charCodeAt(at);
      if (!(unit >= ZERO && unit <= 0x39)) return at;
    }
    throw this.#error(`expected at most ${DIGITS_MAX} digits of a number`);
  }

  #word(word: string, value: Value): void {
    if (!this.#text.startsWith(word, this.#offset)) this.#fail("a value");
    this.#offset += word.length;
    this.#add(value);
  }

  #accept(unit: number): boolean {
    if (this.#text.charCodeAt(this.#offset) !== unit) return false;
    this.#offset++;
    return true;
  }

  #skipSpace(): void {
    const text = this.#text;
    const start = this.#offset;
    const stop = start + RUN_LENGTH_MAX;
    let at = start;
    while (at < stop) {
      const unit = text.charCodeAt(at);
      if (unit !== 0x20 && unit !== LINE_END && unit !== 0x0d && unit !== 0x09) break;
      at++;
      if (unit !== LINE_END) continue;
      this.#line++;
      this.#lineStart = at;
    }
    this.#offset = at;
    this.#cost -= (at - start) / LENGTH_PER_COST;
    if (at < stop) return;
    throw this.#error(`expected fewer than ${RUN_LENGTH_MAX} blanks in a row`);
  }

  #fail(expected: string): never {
    const found = this.#text[this.#offset];
    const what = found === undefined ? "the end of the text" : JSON.stringify(found);
    throw this.#error(`expected ${expected}, found ${what}`);
  }

  #error(message: string): PeerError {
    const column = this.#offset - this.#lineStart + 1;
    const at = `line ${this.#line}, column ${column}`;
    return new PeerError("json.syntax", message, { at });
  }

  #invalid(message: string): PeerError {
    const place = this.#stack
      .map((frame) => (frame.object === undefined ? `[${frame.list.length}]` : `.${frame.key}`))
      .join("");
    const at = place === "" ? "the body" : place.replace(/^\./, "");
    return new PeerError("value.invalid", message, { at });
  }
}

/** An integer literal outside 64 bits is a float, as in the statement language. */
function exactInteger(literal: string): number | bigint {
  // BigInt has limits of its own; no integer of ours is that long.
  if (literal.length > 21) return Number(literal);
  const integer = BigInt(literal);
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? Number(literal) : normalInteger(integer);
}
