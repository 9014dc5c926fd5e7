/**
 * Datum: a value during evaluation: a Value or MISSING (`undefined`). An Outcome may also be a
 * Failure.
 *
 * Inside an expression 7 and 7.0 differ, unlike in a document. A whole float is boxed as a Float,
 * so a plain JS number that is whole is always an integer. Arrays and objects never hold MISSING or
 * a Failure, but may hold Floats.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { type MutableObject, normalNumber, setField } from "@bigpeer/protocol";
import { grow, spend } from "./cost-meter.ts";

/** Box of a float with a whole value, which would otherwise be taken for an integer. */
export class Float {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/**
 * A failed evaluation: division by zero, an argument of the wrong type. It propagates through the
 * enclosing expression. A filter then rejects the row, a column is left out with a warning, a write
 * is refused. Created once for each position, not for each row.
 */
export class Failure {
  /** Message without the position. */
  readonly reason: string;
  /** Offset of the failed node in the text of the statement. */
  readonly at: number | undefined;

  constructor(reason: string, at?: number) {
    this.reason = reason;
    this.at = at;
  }
}

export interface DatumObject {
  readonly [key: string]: PresentDatum;
}

/** An object under construction; setField of the protocol writes to it. */
export type MutableDatumObject = { [key: string]: PresentDatum };

/** A datum that an array or an object can hold. */
export type PresentDatum =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Uint8Array
  | readonly PresentDatum[]
  | DatumObject;

export type Datum = PresentDatum | undefined;

/** Result of an evaluation. */
export type Outcome = Datum | Failure;

export const MISSING: undefined = undefined;

export type DatumType =
  | "missing"
  | "null"
  | "boolean"
  | "integer"
  | "float"
  | "string"
  | "binary"
  | "array"
  | "object";

export function typeOf(datum: Datum): DatumType {
  switch (typeof datum) {
    case "undefined":
      return "missing";
    case "boolean":
      return "boolean";
    case "bigint":
      return "integer";
    case "number":
      return Number.isSafeInteger(datum) ? "integer" : "float";
    case "string":
      return "string";
    default:
      if (datum === null) return "null";
      if (datum instanceof Float) return "float";
      if (datum instanceof Uint8Array) return "binary";
      return Array.isArray(datum) ? "array" : "object";
  }
}

export function isDatumArray(datum: Outcome): datum is readonly PresentDatum[] {
  return Array.isArray(datum);
}

export function isDatumObject(datum: Outcome): datum is DatumObject {
  return (
    typeof datum === "object" &&
    datum !== null &&
    !Array.isArray(datum) &&
    !(datum instanceof Float) &&
    !(datum instanceof Failure) &&
    !(datum instanceof Uint8Array)
  );
}

export function isInteger(datum: Outcome): datum is number | bigint {
  return typeof datum === "bigint" || Number.isSafeInteger(datum);
}

export function isNumeric(datum: Outcome): datum is number | bigint | Float {
  return typeof datum === "number" || typeof datum === "bigint" || datum instanceof Float;
}

/** Converts a float to a datum: boxed if a plain number would look like an integer. */
export function toFloat(value: number): number | Float {
  return Number.isSafeInteger(value) || typeof normalNumber(value) === "bigint"
    ? new Float(value)
    : value;
}

/** The number without its box. */
export function unboxNumber(datum: number | bigint | Float): number | bigint {
  return datum instanceof Float ? datum.value : datum;
}

/** Any number as a JS number; large integers lose digits. */
export function approximate(datum: number | bigint | Float): number {
  return Number(datum instanceof Float ? datum.value : datum);
}

/** Converts a datum to a value, without Floats. Returns the same object if possible. */
export function toValue(datum: PresentDatum): Value {
  if (typeof datum === "number" || typeof datum !== "object" || datum === null) return datum;
  if (datum instanceof Float) return normalNumber(datum.value);
  if (datum instanceof Uint8Array) return datum;
  if (!hasFloat(datum)) return datum as Value;
  return isDatumArray(datum) ? arrayValue(datum) : objectValue(datum);
}

/** Approximate bytes of a part of a copy. */
const PART_BYTES = 24;

function arrayValue(datum: readonly PresentDatum[]): readonly Value[] {
  grow(PART_BYTES * datum.length);
  return datum.map(toValue);
}

function objectValue(datum: DatumObject): ValueObject {
  const copy: MutableObject = {};
  grow(PART_BYTES * Object.keys(datum).length);
  for (const key of Object.keys(datum)) setField(copy, key, toValue(datum[key] as PresentDatum));
  return copy;
}

/** Whether a datum is a boxed float or contains one. */
export function hasFloat(datum: PresentDatum): boolean {
  if (typeof datum !== "object" || datum === null || datum instanceof Uint8Array) return false;
  if (datum instanceof Float) return true;
  let count = 0;
  if (isDatumArray(datum)) {
    count = datum.length;
    for (const part of datum) if (hasFloat(part)) return true;
  } else {
    for (const key in datum) {
      count++;
      if (hasFloat(datum[key] as PresentDatum)) return true;
    }
  }
  spend(count);
  return false;
}
