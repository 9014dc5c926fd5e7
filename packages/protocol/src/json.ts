/**
 * Values as JSON text, without loss: 64-bit integers, -0 and a field named `__proto__` survive.
 *
 * JSON has no binary and no NaN: binary is written as base64 text, NaN and infinities as null. The
 * host's JSON does the work unless the text holds a run of 16 digits that is no fraction (reading) or
 * the value holds something that it would lose (writing).
 */

import { PeerError } from "./error.ts";
import {
  DEPTH_MAX,
  INTEGER_MAX,
  INTEGER_MIN,
  isArray,
  type MutableObject,
  normalInteger,
  setField,
  type Value,
} from "./value.ts";

/**
 * The value as the text has it. What JSON can say and a value cannot (a lone surrogate, too many
 * levels) and the one form of large numbers are checkValue's.
 */
export function parseJson(text: string): Value {
  if (!hasLongNumber(text)) {
    try {
      return JSON.parse(text) as Value;
    } catch {
      // Read again below for an error that names the place.
    }
  }
  return new JsonReader(text).read();
}

/** Digits from which on a number may be more than the host's JSON reads exactly. */
const LONG_NUMBER = 16;

/**
 * Whether so many digits stand in a row. One of them is then at a multiple of that length, so only
 * these places are looked at: a quarter of the time of a pattern, which looks at all.
 */
function hasLongNumber(text: string): boolean {
  for (let at = LONG_NUMBER - 1; at < text.length; at += LONG_NUMBER) {
    if (!isDigitAt(text, at)) continue;
    let start = at;
    while (isDigitAt(text, start - 1)) start--;
    let end = at + 1;
    while (isDigitAt(text, end)) end++;
    // Behind a point they are a fraction, and of a float, which the host reads as exactly as we do.
    if (end - start >= LONG_NUMBER && text[start - 1] !== ".") return true;
  }
  return false;
}

/** False outside of the text. */
function isDigitAt(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0x30 && unit <= 0x39;
}

export function stringifyJson(value: Value): string {
  return isHostSafe(value) ? JSON.stringify(value) : writeExact(value);
}

/** Whether the host's JSON.stringify writes this value as we do. */
function isHostSafe(value: Value): boolean {
  switch (typeof value) {
    case "bigint":
      return false;
    case "number":
      return value !== 0 || !Object.is(value, -0);
    case "object":
      if (value === null) return true;
      if (value instanceof Uint8Array) return false;
      if (isArray(value)) return value.every(isHostSafe);
      // A field named toJSON that holds no function is data for both.
      for (const key of Object.keys(value)) {
        if (!isHostSafe(value[key] as Value)) return false;
      }
      return true;
    default:
      return true;
  }
}

function writeExact(value: Value): string {
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "number":
      return Object.is(value, -0) ? "-0" : JSON.stringify(value);
    case "object":
      if (value === null) return "null";
      if (value instanceof Uint8Array) return `"${encodeBase64(value)}"`;
      if (isArray(value)) return `[${value.map(writeExact).join(",")}]`;
      return `{${Object.keys(value)
        .map((key) => `${JSON.stringify(key)}:${writeExact(value[key] as Value)}`)
        .join(",")}}`;
    default:
      return JSON.stringify(value);
  }
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Bytes that become text in one piece: whole groups of three, and few enough for one call. */
const BASE64_PIECE = 12 * 1024;

/** In pieces: a text that grows by single characters takes many times its size while it does. */
export function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; from += BASE64_PIECE) {
    pieces.push(encodePiece(bytes.subarray(from, from + BASE64_PIECE)));
  }
  return pieces.join("");
}

function encodePiece(bytes: Uint8Array): string {
  const codes = new Uint8Array(4 * Math.ceil(bytes.length / 3));
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    codes[at++] = BASE64.charCodeAt(group >> 18);
    codes[at++] = BASE64.charCodeAt((group >> 12) & 63);
    codes[at++] = BASE64.charCodeAt((group >> 6) & 63);
    codes[at++] = BASE64.charCodeAt(group & 63);
  }
  const text = String.fromCharCode(...codes);
  const missing = (3 - (bytes.length % 3)) % 3;
  return text.slice(0, text.length - missing) + "=".repeat(missing);
}

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;
const HEX = /[0-9a-fA-F]{4}/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Reads by hand: for exact integers, and for errors with line and column. */
class JsonReader {
  readonly #text: string;
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Value {
    const value = this.#value(0);
    this.#skipSpace();
    if (this.#offset < this.#text.length) this.#fail("the end");
    return value;
  }

  #value(depth: number): Value {
    this.#skipSpace();
    const first = this.#text[this.#offset];
    if (depth >= DEPTH_MAX && (first === "{" || first === "[")) {
      throw this.#error(`expected at most ${DEPTH_MAX} levels of nesting`);
    }
    switch (first) {
      case "{":
        return this.#object(depth);
      case "[":
        return this.#array(depth);
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #object(depth: number): Value {
    const object: MutableObject = {};
    this.#offset++;
    this.#skipSpace();
    if (this.#accept("}")) return object;
    do {
      this.#skipSpace();
      if (this.#text[this.#offset] !== '"') this.#fail("a key in double quotes");
      const key = this.#string();
      this.#skipSpace();
      if (!this.#accept(":")) this.#fail('":"');
      setField(object, key, this.#value(depth + 1));
      this.#skipSpace();
    } while (this.#accept(","));
    if (!this.#accept("}")) this.#fail('"," or "}"');
    return object;
  }

  #array(depth: number): Value {
    const array: Value[] = [];
    this.#offset++;
    this.#skipSpace();
    if (this.#accept("]")) return array;
    do {
      array.push(this.#value(depth + 1));
      this.#skipSpace();
    } while (this.#accept(","));
    if (!this.#accept("]")) this.#fail('"," or "]"');
    return array;
  }

  #string(): string {
    this.#offset++;
    let text = this.#match(PLAIN_TEXT) ?? "";
    while (!this.#accept('"')) {
      if (!this.#accept("\\")) this.#fail("the end of the string");
      text += this.#escape() + (this.#match(PLAIN_TEXT) ?? "");
    }
    return text;
  }

  #escape(): string {
    const letter = this.#text[this.#offset] ?? "";
    if (letter === "u") {
      this.#offset++;
      const hex = this.#match(HEX);
      return hex === undefined
        ? this.#fail("four hexadecimal digits")
        : String.fromCharCode(Number.parseInt(hex, 16));
    }
    const character = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (character === undefined) return this.#fail("an escape");
    this.#offset++;
    return character;
  }

  #number(): Value {
    NUMBER.lastIndex = this.#offset;
    const match = NUMBER.exec(this.#text);
    if (match === null) return this.#fail("a value");
    this.#offset = NUMBER.lastIndex;
    const literal = match[0];
    const isInteger = match[1] === undefined && match[2] === undefined;
    return isInteger && literal.length > 15 ? exactInteger(literal) : Number(literal);
  }

  #word(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#offset)) this.#fail("a value");
    this.#offset += word.length;
    return value;
  }

  #accept(character: string): boolean {
    if (this.#text[this.#offset] !== character) return false;
    this.#offset++;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#offset = pattern.lastIndex;
    return match[0];
  }

  #skipSpace(): void {
    this.#match(SPACE);
  }

  #fail(expected: string): never {
    const found = this.#text[this.#offset];
    const what = found === undefined ? "the end of the text" : JSON.stringify(found);
    throw this.#error(`expected ${expected}, found ${what}`);
  }

  #error(message: string): PeerError {
    const before = this.#text.slice(0, this.#offset).split("\n");
    const column = (before.at(-1) ?? "").length + 1;
    return new PeerError("json.syntax", message, { at: `line ${before.length}, column ${column}` });
  }
}

/** An integer literal outside 64 bits is a float, as in the statement language. */
function exactInteger(literal: string): Value {
  // BigInt has limits of its own; nothing that long is an integer of ours.
  if (literal.length > 21) return Number(literal);
  const integer = BigInt(literal);
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? Number(literal) : normalInteger(integer);
}
