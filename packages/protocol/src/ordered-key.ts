/**
 * Ordered keys: order-preserving encoding of values as byte strings.
 *
 * The order of two keys is that of compareValues, also across types. Keys are self-terminating, so
 * they can be concatenated. Equal values have equal keys (1 and 1.0, -0 and 0, object keys in any
 * order), so the key of a document id is its canonical form.
 *
 *   false 10 · true 11 · number 20 · binary 30 · string 40 · array 50 · object 60 · null 70 · MISSING 80
 */

import { encodeText } from "./bytes.ts";
import { PeerError } from "./error.ts";
import { byteText } from "./known-text.ts";
import {
  DEPTH_MAX,
  INTEGER_MAX,
  INTEGER_MIN,
  isArray,
  type MutableObject,
  normalInteger,
  setField,
  sortedKeys,
  type Value,
  type ValueObject,
} from "./value.ts";

const FALSE = "\x10";
const TRUE = "\x11";
const NUMBER = "\x20";
const BINARY = "\x30";
const STRING = "\x40";
const ARRAY = "\x50";
const OBJECT = "\x60";
const NULL = "\x70";
const MISSING = "\x80";

/** Ends text, arrays and objects. Below every tag, so the shorter of two comes first. */
const END = "\x00";
/** A zero byte inside text; the ff distinguishes it from the end. */
const ESCAPED_ZERO = "\x00\xff";

export function orderedKey(value: Value | undefined): string {
  switch (typeof value) {
    case "undefined":
      return MISSING;
    case "boolean":
      return value ? TRUE : FALSE;
    case "number":
    case "bigint":
      return NUMBER + numberKey(value);
    case "string":
      return STRING + textKey(value);
    default:
      if (value === null) return NULL;
      if (value instanceof Uint8Array) return BINARY + escapeZeros(byteString(value)) + END;
      if (isArray(value)) return ARRAY + value.map(orderedKey).join("") + END;
      return OBJECT + objectKey(value) + END;
  }
}

/** Decodes a key that orderedKey made. Throws `store.corrupt` on anything else. */
export function valueOfOrderedKey(key: string): Value | undefined {
  const reader = new KeyReader(key);
  const value = reader.value();
  reader.end();
  return value;
}

/** The value of a key that begins at `offset`, and where it ends: another may follow there. */
export function readOrderedKey(
  key: string,
  offset: number,
): { readonly value: Value | undefined; readonly end: number } {
  const reader = new KeyReader(key, offset);
  const value = reader.value();
  return { value, end: reader.offset };
}

/** The key with every byte inverted: such keys sort from the largest value down. */
export function invertedKey(key: string): string {
  let inverted = "";
  for (let i = 0; i < key.length; i++) inverted += String.fromCharCode(0xff - key.charCodeAt(i));
  return inverted;
}

export function byteString(bytes: Uint8Array): string {
  return byteText(bytes, 0, bytes.length);
}

export function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Text as UTF-8 with its terminator, as in a string key without the tag. */
export function textKey(text: string): string {
  return (isPlainText(text) ? text : escapeZeros(byteString(encodeText(text)))) + END;
}

/** Whether text is its own key: ASCII without a zero byte. */
export function isPlainText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is the point
  return /^[\x01-\x7f]*$/.test(text);
}

/** The ordered key of plain text. */
export function plainTextKey(text: string): string {
  return STRING + text + END;
}

/** The plain text of a key that begins at `offset`; undefined for every other key. */
export function textOfPlainKey(key: string, offset: number): string | undefined {
  if (key.charAt(offset) !== STRING || !key.endsWith(END)) return undefined;
  const text = key.slice(offset + 1, -1);
  return isPlainText(text) ? text : undefined;
}

function escapeZeros(text: string): string {
  return text.includes("\x00") ? text.replaceAll("\x00", ESCAPED_ZERO) : text;
}

function objectKey(object: ValueObject): string {
  let key = "";
  for (const name of sortedKeys(object)) key += STRING + textKey(name) + orderedKey(object[name]);
  return key;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const scratch = new DataView(new ArrayBuffer(8));
const EXACT_LIMIT = 2 ** 53;

/**
 * Eight bytes of the nearest double with its bits changed so that they sort; from 2^53 on two more
 * bytes with the distance to it, since one double then stands for several integers (up to ±1024).
 */
function numberKey(value: number | bigint): string {
  const double = Number(value) + 0; // -0 becomes 0
  const key = doubleKey(double);
  if (!(Math.abs(double) >= EXACT_LIMIT)) return key;
  const distance = typeof value === "bigint" ? Number(value - BigInt(double)) : 0;
  const biased = distance + 0x8000;
  return key + String.fromCharCode(biased >> 8, biased & 0xff);
}

/** Fixed, because the bits that setFloat64 writes for NaN vary: 0 / 0 may have a sign. */
const NAN_KEY = "\xff\xf8\0\0\0\0\0\0";

function doubleKey(double: number): string {
  if (Number.isNaN(double)) return NAN_KEY;
  scratch.setFloat64(0, double);
  const first = scratch.getInt32(0);
  const second = scratch.getInt32(4);
  // All bits of a negative number are inverted, of others the sign alone.
  const high = first < 0 ? ~first : first ^ 0x80000000;
  const low = first < 0 ? ~second : second;
  return String.fromCharCode(
    high >>> 24,
    (high >>> 16) & 255,
    (high >>> 8) & 255,
    high & 255,
    low >>> 24,
    (low >>> 16) & 255,
    (low >>> 8) & 255,
    low & 255,
  );
}

class KeyReader {
  readonly #key: string;
  #offset: number;
  #depth = 0;

  constructor(key: string, offset = 0) {
    this.#key = key;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  value(): Value | undefined {
    switch (this.#next()) {
      case FALSE:
        return false;
      case TRUE:
        return true;
      case NUMBER:
        return this.#number();
      case BINARY:
        return bytesOf(this.#text());
      case STRING:
        return this.#decodedText();
      case ARRAY:
        return this.#inside(() => this.#array());
      case OBJECT:
        return this.#inside(() => this.#object());
      case NULL:
        return null;
      case MISSING:
        return undefined;
      default:
        return this.#fail();
    }
  }

  end(): void {
    if (this.#offset !== this.#key.length) this.#fail();
  }

  #next(): string {
    return this.#key[this.#offset++] ?? this.#fail();
  }

  #text(): string {
    let text = "";
    for (;;) {
      const end = this.#key.indexOf(END, this.#offset);
      if (end < 0) this.#fail();
      text += this.#key.slice(this.#offset, end);
      this.#offset = end + 1;
      if (this.#key[this.#offset] !== "\xff") return text;
      text += "\x00";
      this.#offset++;
    }
  }

  #decodedText(): string {
    const text = this.#text();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is the point
    if (/^[\x00-\x7f]*$/.test(text)) return text;
    try {
      return decoder.decode(bytesOf(text));
    } catch {
      return this.#fail();
    }
  }

  #inside<T>(read: () => T): T {
    if (++this.#depth > DEPTH_MAX) this.#fail();
    const value = read();
    this.#depth--;
    return value;
  }

  /** A value inside another is never MISSING. */
  #part(): Value {
    const value = this.value();
    return value === undefined ? this.#fail() : value;
  }

  #array(): Value[] {
    const array: Value[] = [];
    while (this.#key[this.#offset] !== END) array.push(this.#part());
    this.#offset++;
    return array;
  }

  #object(): ValueObject {
    const object: MutableObject = {};
    for (let tag = this.#next(); tag !== END; tag = this.#next()) {
      if (tag !== STRING) this.#fail();
      const name = this.#decodedText();
      setField(object, name, this.#part());
    }
    return object;
  }

  #number(): number | bigint {
    const first = this.#next().charCodeAt(0);
    const isNegative = first < 0x80;
    scratch.setUint8(0, first ^ (isNegative ? 0xff : 0x80));
    for (let i = 1; i < 8; i++) {
      scratch.setUint8(i, this.#next().charCodeAt(0) ^ (isNegative ? 0xff : 0));
    }
    const double = scratch.getFloat64(0);
    if (!(Math.abs(double) >= EXACT_LIMIT)) return double;
    const high = this.#next().charCodeAt(0);
    const distance = high * 256 + this.#next().charCodeAt(0) - 0x8000;
    if (!Number.isFinite(double)) return double;
    // A whole number inside 64 bits is an integer, whichever form it had (V2).
    const integer = BigInt(double) + BigInt(distance);
    return integer < INTEGER_MIN || integer > INTEGER_MAX ? double : normalInteger(integer);
  }

  #fail(): never {
    throw new PeerError("store.corrupt", "expected the key of a value", {
      at: `byte ${this.#offset}`,
    });
  }
}
