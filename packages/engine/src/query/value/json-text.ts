/**
 * JSON text of data: serializes and parses data for serialize_json, deserialize_json and CAST to
 * text.
 *
 * Unlike JSON on the wire, it distinguishes 7 from 7.0, sorts keys so that equal objects have equal
 * text, and writes binary as an array of bytes.
 */

import { checkValue, PeerError, parseAtOnce, setField, type Value } from "@bigpeer/protocol";
import { sortedKeys } from "./compare.ts";
import type { CostMeter } from "./cost-meter.ts";
import {
  type DatumObject,
  Failure,
  Float,
  isDatumArray,
  type MutableDatumObject,
  type Outcome,
  type PresentDatum,
  toFloat,
} from "./datum.ts";
import { JsonDatumReader } from "./json-reader.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "./size-bound.ts";

/** Text longer than this is charged as memory of the statement, piece by piece. */
const UNCOUNTED_LENGTH = 32 * 1024;
const PIECE_LENGTH = 4096;
const BYTES_PER_STEP = 64;
const LENGTH_PER_STEP = 256;
const ELEMENT_STEPS = 0.25;

/** Serializes a datum. Parts may be shared, so the text can far outgrow the memory of the datum. */
export function writeJson(datum: PresentDatum, budget?: CostMeter): string | Failure {
  const writer = new JsonWriter(budget);
  writer.write(datum);
  return writer.isTooLong ? TEXT_TOO_LONG : writer.text;
}

class JsonWriter {
  readonly #budget: CostMeter | undefined;
  #counted = UNCOUNTED_LENGTH;
  text = "";

  constructor(budget: CostMeter | undefined) {
    this.#budget = budget;
  }

  get isTooLong(): boolean {
    return this.text.length > TEXT_LENGTH_MAX;
  }

  write(datum: PresentDatum): void {
    if (this.isTooLong) return;
    if (typeof datum === "string") this.#string(datum);
    else if (typeof datum !== "object" || datum === null) this.#add(scalarText(datum));
    else if (datum instanceof Float) this.#add(floatText(datum.value));
    else if (datum instanceof Uint8Array) this.#bytes(datum);
    else if (isDatumArray(datum)) this.#array(datum);
    else this.#object(datum);
  }

  /** Writes a string in pieces that do not split a character: one can become six. */
  #string(text: string): void {
    if (text.length <= PIECE_LENGTH) {
      this.#budget?.step(text.length / LENGTH_PER_STEP);
      return this.#add(JSON.stringify(text));
    }
    this.#add('"');
    for (let from = 0; from < text.length && !this.isTooLong; ) {
      const end = from + PIECE_LENGTH;
      const to = (text.codePointAt(end - 1) ?? 0) > 0xffff ? end + 1 : end;
      this.#budget?.step(PIECE_LENGTH / LENGTH_PER_STEP);
      this.#add(JSON.stringify(text.slice(from, to)).slice(1, -1));
      from = to;
    }
    this.#add('"');
  }

  #bytes(bytes: Uint8Array): void {
    this.#budget?.step(bytes.length / BYTES_PER_STEP);
    // In pieces, so that the limit applies before all bytes are text.
    this.#add("[");
    for (let from = 0; from < bytes.length && !this.isTooLong; from += PIECE_LENGTH) {
      const separator = from === 0 ? "" : ",";
      this.#add(separator + bytes.subarray(from, from + PIECE_LENGTH).join(","));
    }
    this.#add("]");
  }

  #array(array: readonly PresentDatum[]): void {
    this.#add("[");
    for (let i = 0; i < array.length && !this.isTooLong; i++) {
      this.#budget?.step(ELEMENT_STEPS);
      if (i > 0) this.#add(",");
      this.write(array[i] as PresentDatum);
    }
    this.#add("]");
  }

  #object(object: DatumObject): void {
    let separator = "{";
    const keys = Object.keys(object);
    this.#budget?.step(keys.length);
    for (const key of sortedKeys(keys)) {
      if (this.isTooLong) return;
      this.#budget?.step(ELEMENT_STEPS);
      this.#add(separator);
      this.#string(key);
      this.#add(":");
      this.write(object[key] as PresentDatum);
      separator = ",";
    }
    this.#add(separator === "{" ? "{}" : "}");
  }

  #add(part: string): void {
    // Stops before the string exceeds what JavaScript can hold; the rest is skipped.
    if (this.isTooLong) return;
    this.text += part;
    const grown = this.text.length - this.#counted;
    if (grown < PIECE_LENGTH) return;
    this.#counted += grown;
    this.#budget?.borrow(2 * grown);
    this.#budget?.step(Math.ceil(grown / LENGTH_PER_STEP));
  }
}

function scalarText(datum: null | boolean | number | bigint | string): string {
  if (typeof datum === "bigint") return datum.toString();
  return typeof datum === "number" && !Number.isSafeInteger(datum)
    ? floatText(datum)
    : JSON.stringify(datum);
}

/** Floats from here on have an exponent. */
const EXPONENT_MIN = 1e16;

/** Writes a float with a point or an exponent, so that it parses as a float. JSON has no NaN. */
function floatText(float: number): string {
  if (!Number.isFinite(float)) return "null";
  if (Math.abs(float) >= EXPONENT_MIN) return float.toExponential();
  const text = Object.is(float, -0) ? "-0" : String(float);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const NOT_JSON = new Failure("expected JSON text");

/** Parses JSON text; a failure if it is invalid or not a valid value. */
export function readJson(text: string, budget: CostMeter): Outcome {
  try {
    const parsed = text.length > HOST_LENGTH_MAX ? undefined : parseAtOnce(text);
    if (parsed === undefined) return new JsonDatumReader(text, budget).read();
    const value = checkValue(parsed, "the text");
    return HAS_FLOAT.test(text) ? readFloats(text) : value;
  } catch (error) {
    if (error instanceof PeerError && error.code.startsWith("query.")) throw error;
    return NOT_JSON;
  }
}

/** Maximum length for the built-in parser. */
const HOST_LENGTH_MAX = 1024;

/** Matches also inside strings: then the second pass finds nothing to change. */
const HAS_FLOAT = /\d[.eE]/;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses valid JSON again, with every float replaced by a string that begins with a lone low
 * surrogate. No string of a value begins like that.
 */
function readFloats(text: string): Outcome {
  const marked = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || !HAS_FLOAT.test(token) ? token : `"${FLOAT_MARK}${token}"`,
  );
  return unmark(JSON.parse(marked) as Value);
}

const FLOAT_MARK = "\udc00";

function unmark(value: Value): PresentDatum {
  if (typeof value === "string") {
    return value.startsWith(FLOAT_MARK) ? markedFloat(value.slice(1)) : value;
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return (value as readonly Value[]).map(unmark);
  const object: MutableDatumObject = {};
  for (const [key, field] of Object.entries(value)) setField(object, key, unmark(field));
  return object;
}

function markedFloat(literal: string): number | Float {
  const float = Number(literal);
  if (Number.isFinite(float)) return toFloat(float);
  throw new RangeError(`expected a number that a float can hold, found ${literal}`);
}
