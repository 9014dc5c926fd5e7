/**
 * The slow obvious evaluator: CAST. What cannot be cast is MISSING.
 */
import { encodeText, unreachable } from "@bigpeer/protocol";
import type { CastType } from "../../../src/query/value/cast.ts";
import {
  approximate,
  type Datum,
  Failure,
  Float,
  isDatumArray,
  isInteger,
  isNumeric,
  type Outcome,
  toFloat,
} from "../../../src/query/value/datum.ts";
import { inRange } from "./arithmetic.ts";

export function castTo(type: CastType, datum: Datum): Outcome {
  if (datum === undefined || datum === null) return datum;
  switch (type) {
    case "integer":
      return toInteger(datum);
    case "float":
      return toFloatDatum(datum);
    case "string":
      return textOf(datum);
    case "boolean":
      return toBoolean(datum);
    case "binary":
      return toBinary(datum);
    case "array":
    case "object":
      return new Failure("a cast that gives nothing");
    default:
      return unreachable(type);
  }
}

function toBinary(datum: Datum): Outcome {
  if (datum instanceof Uint8Array) return datum;
  if (typeof datum === "boolean") return Uint8Array.of(Number(datum));
  if (!isNumeric(datum)) return encodeText(textOf(datum));
  const bytes = Buffer.alloc(8);
  if (isInteger(datum)) bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(datum)));
  else bytes.writeDoubleBE(approximate(datum));
  return Uint8Array.from(bytes);
}

function toInteger(datum: Datum): Outcome {
  if (typeof datum === "boolean") return Number(datum);
  if (isInteger(datum)) return datum;
  if (isNumeric(datum)) return truncated(approximate(datum));
  if (typeof datum !== "string" || !/^([+-]?\d+|0x[0-9a-f]+)$/i.test(datum)) return undefined;
  return orMissing(inRange(BigInt(datum.replace(/^\+/, ""))));
}

function truncated(float: number): Outcome {
  return Number.isFinite(float) ? orMissing(inRange(BigInt(Math.trunc(float)))) : undefined;
}

function orMissing(outcome: Outcome): Outcome {
  return outcome instanceof Failure ? undefined : outcome;
}

function toFloatDatum(datum: Datum): Outcome {
  if (typeof datum === "boolean") return toFloat(Number(datum));
  if (isNumeric(datum)) return toFloat(approximate(datum));
  if (datum === "NaN") return Number.NaN;
  if (typeof datum !== "string" || !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(datum)) {
    return undefined;
  }
  return toFloat(Number(datum));
}

function toBoolean(datum: Datum): Outcome {
  if (typeof datum === "boolean") return datum;
  if (isNumeric(datum)) return approximate(datum) !== 0;
  if (datum === "true" || datum === "false") return datum === "true";
  return undefined;
}

/** A whole float is written without a point, inside a list or an object with one. */
function textOf(datum: Datum): string {
  if (typeof datum === "string") return datum;
  return datum instanceof Float ? String(datum.value) : jsonOf(datum);
}

function jsonOf(datum: Datum): string {
  if (datum instanceof Float) return wholeFloat(datum.value);
  if (datum instanceof Uint8Array) return jsonOf([...datum]);
  if (isDatumArray(datum)) return `[${datum.map(jsonOf).join(",")}]`;
  if (typeof datum !== "object" || datum === null) {
    return typeof datum === "bigint" ? String(datum) : JSON.stringify(datum);
  }
  const entries = Object.entries(datum).map(
    ([key, value]) => `${JSON.stringify(key)}:${jsonOf(value)}`,
  );
  return `{${entries.join(",")}}`;
}

function wholeFloat(value: number): string {
  const digits = Object.is(value, -0) ? "-0" : String(value);
  return digits.includes("e") ? digits : `${digits}.0`;
}
