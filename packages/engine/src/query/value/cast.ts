/**
 * CAST: converts a datum to another type.
 *
 * Null stays null, MISSING stays MISSING. A datum without an equivalent in the other type becomes
 * MISSING, which a statement can test for. A cast to array or object is a failure. Text must match
 * exactly: no blanks, no other spelling.
 */

import {
  encodeText,
  INTEGER_MAX,
  INTEGER_MIN,
  normalInteger,
  unreachable,
} from "@bigpeer/protocol";
import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import { COST_METER, grow, spendLength } from "./cost-meter.ts";
import {
  approximate,
  type Datum,
  Failure,
  type Float,
  isInteger,
  isNumeric,
  MISSING,
  type Outcome,
  type PresentDatum,
  toFloat,
} from "./datum.ts";
import { writeJson } from "./json-text.ts";
import { BINARY_TOO_LONG } from "./size-bound.ts";

const NOT_CASTABLE = new Failure(
  "expected a type to cast to: integer, float, string, boolean, binary",
);

export type CastType = "integer" | "float" | "string" | "boolean" | "binary" | "array" | "object";

/** Names of types in statements, in lower case. */
const TYPE_NAMES: ReadonlyMap<string, CastType> = new Map<string, CastType>([
  ["int", "integer"],
  ["integer", "integer"],
  ["float", "float"],
  ["string", "string"],
  ["boolean", "boolean"],
  ["binary", "binary"],
  ["array", "array"],
  ["object", "object"],
]);

export function castTypeOf(name: string): CastType | undefined {
  return TYPE_NAMES.get(name.toLowerCase());
}

export function castDatum(datum: Datum, type: CastType): Outcome {
  if (datum === null || datum === MISSING) return datum;
  if (typeof datum === "string") spendLength(datum.length);
  switch (type) {
    case "integer":
      return castToInteger(datum);
    case "float":
      return castToFloat(datum);
    case "string":
      return castToText(datum);
    case "boolean":
      return castToBoolean(datum);
    case "binary":
      return castToBinary(datum);
    case "array":
    case "object":
      return NOT_CASTABLE;
    default:
      return unreachable(type);
  }
}

/** Maximum significant digits: 64 bits need no more, and long texts convert slowly. */
const DIGITS_MAX = 20;
// Each part matches in one way only, so matching takes linear time.
const DECIMAL_TEXT = /^([+-]?)(\d+)$/;
const HEX_TEXT = /^([+-]?)0[xX]([\da-fA-F]+)$/;
const FLOAT_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function castToInteger(datum: PresentDatum): Datum {
  if (typeof datum === "boolean") return datum ? 1 : 0;
  if (isInteger(datum)) return datum;
  if (isNumeric(datum)) {
    const float = approximate(datum);
    return Number.isFinite(float) ? integerInRange(BigInt(Math.trunc(float))) : MISSING;
  }
  if (typeof datum !== "string") return MISSING;
  const decimal = DECIMAL_TEXT.exec(datum);
  return decimal === null
    ? integerOfDigits(HEX_TEXT.exec(datum), "0x")
    : integerOfDigits(decimal, "");
}

function integerOfDigits(match: RegExpExecArray | null, prefix: string): Datum {
  if (match === null) return MISSING;
  const [, sign, digits = ""] = match;
  const significant = digits.replace(/^0+/, "");
  if (significant.length > DIGITS_MAX) return MISSING;
  const integer = BigInt(`${prefix}${significant || "0"}`);
  return integerInRange(sign === "-" ? -integer : integer);
}

function integerInRange(integer: bigint): Datum {
  return integer < INTEGER_MIN || integer > INTEGER_MAX ? MISSING : normalInteger(integer);
}

const FLOAT_WORDS: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ["inf", Number.POSITIVE_INFINITY],
  ["infinity", Number.POSITIVE_INFINITY],
  ["+inf", Number.POSITIVE_INFINITY],
  ["+infinity", Number.POSITIVE_INFINITY],
  ["-inf", Number.NEGATIVE_INFINITY],
  ["-infinity", Number.NEGATIVE_INFINITY],
]);

const FLOAT_WORD_LENGTH_MAX = 9;

function castToFloat(datum: PresentDatum): Datum {
  if (typeof datum === "boolean") return toFloat(datum ? 1 : 0);
  if (isNumeric(datum)) return toFloat(approximate(datum));
  if (typeof datum !== "string") return MISSING;
  if (FLOAT_TEXT.test(datum)) return toFloat(Number(datum));
  return datum.length > FLOAT_WORD_LENGTH_MAX ? MISSING : FLOAT_WORDS.get(datum.toLowerCase());
}

/** Casts to text. Arrays, objects and binary become JSON; binary is an array of byte numbers. */
function castToText(datum: PresentDatum): Outcome {
  if (typeof datum === "string") return datum;
  if (typeof datum === "boolean") return String(datum);
  if (isInteger(datum)) return String(datum);
  return isNumeric(datum) ? floatText(approximate(datum)) : writeJson(datum, COST_METER);
}

/** The shortest digits that identify the float, without an exponent. */
function floatText(float: number): string {
  if (float === Number.POSITIVE_INFINITY) return "inf";
  if (float === Number.NEGATIVE_INFINITY) return "-inf";
  const text = String(float);
  const [mantissa = "", exponent] = text.split("e");
  return exponent === undefined ? text : shifted(mantissa, Number(exponent));
}

/** Moves the decimal point to the right by a number of places. */
function shifted(mantissa: string, places: number): string {
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.slice(sign.length).split(".");
  if (places < 0) return `${sign}0.${"0".repeat(-places - whole.length)}${whole}${fraction}`;
  return sign + whole + fraction.padEnd(places, "0");
}

function castToBoolean(datum: PresentDatum): Datum {
  if (typeof datum === "boolean") return datum;
  if (isNumeric(datum)) return approximate(datum) !== 0;
  if (datum === "true") return true;
  return datum === "false" ? false : MISSING;
}

/** Casts to binary: text as UTF-8, a number as 8 bytes big-endian, a boolean as 1, else JSON. */
function castToBinary(datum: PresentDatum): Outcome {
  if (datum instanceof Uint8Array) return datum;
  if (typeof datum === "boolean") return Uint8Array.of(datum ? 1 : 0);
  if (isNumeric(datum)) return numberBytes(datum);
  const text = typeof datum === "string" ? datum : writeJson(datum, COST_METER);
  if (typeof text !== "string") return text;
  spendLength(2 * text.length);
  grow(2 * text.length);
  const bytes = encodeText(text);
  return bytes.length > COMPUTED_SIZE_MAX ? BINARY_TOO_LONG : bytes;
}

function numberBytes(datum: number | bigint | Float): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  if (isInteger(datum)) view.setBigUint64(0, BigInt.asUintN(64, BigInt(datum)));
  else view.setFloat64(0, approximate(datum));
  return new Uint8Array(view.buffer);
}
