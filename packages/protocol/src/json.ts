/**
 * JSON codec of values, without loss: 64-bit integers, -0 and a field named `__proto__` survive.
 *
 * JSON has no binary and no NaN: binary is written as base64 text, NaN and infinities as null. The
 * host's JSON does the work unless the text is long or has a run of 16 digits that is no fraction
 * (parsing), or the value has a part that it would lose (writing).
 */

import { decodedSize } from "./decoded-size.ts";
import { type JsonLimits, JsonReader } from "./json-reader.ts";
import { isArray, noteChecked, type Value } from "./value.ts";

/** Text that the host parses at once: even the worst case takes at most ten milliseconds. */
const AT_ONCE_LENGTH_MAX: number = 32 * 1024;

/** Most memory that the host takes for a character of text: nested lists. */
const BYTES_PER_CHARACTER = 32;

/** The memory of shorter text is not measured afterwards. */
const ROUGH_LENGTH_MAX = 4 * 1024;

/**
 * Parses the text. Content that JSON allows and a value does not (a lone surrogate, too many
 * levels), and the normal form of large numbers, are left to checkValue.
 */
export function parseJson(text: string): Value {
  const value = parseAtOnce(text);
  return value === undefined ? new JsonReader(text).read() : value;
}

/** As parseJson, with pauses where it takes long. In long text it also finds too many levels. */
export function* parseJsonIncremental(text: string, limits: JsonLimits): Generator<void, Value> {
  const { charge, isValue } = limits;
  // If a number may be too large, the reader finds its position.
  if (text.length > AT_ONCE_LENGTH_MAX || (isValue === true && HUGE_NUMBER.test(text))) {
    const read = yield* new JsonReader(text, limits).readIncremental();
    if (isValue === true) noteChecked(read, true);
    return read;
  }
  const most = BYTES_PER_CHARACTER * text.length;
  charge?.(most);
  let value = parseAtOnce(text);
  if (value === undefined) {
    value = yield* new JsonReader(text, { ...limits, charge: undefined }).readIncremental();
  }
  if (charge !== undefined && text.length > ROUGH_LENGTH_MAX) charge(decodedSize(value) - most);
  return value;
}

/**
 * A number too large for a float has an exponent of three digits, or very many digits. What stands
 * before a number is examined too: ids in hexadecimal digits often look like such an exponent.
 */
const HUGE_NUMBER = /(?:^|[\s:,[])-?\d+(?:\.\d+)?[eE]\+?\d{3}/;

/**
 * The value of short text, parsed by the host. Undefined for long text, and when the host would lose
 * something or finds a fault, without an exact position.
 */
export function parseAtOnce(text: string): Value | undefined {
  if (text.length > AT_ONCE_LENGTH_MAX || hasLongNumber(text)) return undefined;
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}

/** Digits from which on the host's JSON may lose precision. */
const LONG_NUMBER = 16;

/**
 * Whether this many digits stand in a row. One of them is then at a multiple of that length, so
 * only these positions are examined: a quarter of the time of a regular expression, which examines
 * all. No digit is examined twice: the next position is after those that were.
 */
function hasLongNumber(text: string): boolean {
  for (let at = LONG_NUMBER - 1; at < text.length; at += LONG_NUMBER) {
    if (!isDigitAt(text, at)) continue;
    let start = at;
    while (isDigitAt(text, start - 1)) start--;
    let end = at + 1;
    while (isDigitAt(text, end)) end++;
    if (end - start >= LONG_NUMBER && !isKeptBy(text.charCodeAt(start - 1))) return true;
    at = end;
  }
  return false;
}

/**
 * Whether the host keeps digits after this character: after a point they are the fraction of a
 * float, which it reads as exactly as we do, and after a quote they are text.
 */
function isKeptBy(before: number): boolean {
  return before === POINT || before === QUOTE;
}

const POINT = 0x2e;
const QUOTE = 0x22;

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
      // A field named toJSON that is no function is data for both.
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

/** Bytes that are encoded in one piece: whole groups of three, and few enough for one call. */
const BASE64_PIECE = 12 * 1024;

/** In pieces: a string that grows by single characters takes many times its size meanwhile. */
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
