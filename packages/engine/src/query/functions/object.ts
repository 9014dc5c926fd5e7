/**
 * Object functions: list, read, set, rename and merge fields. They return new objects and never
 * change one. Keys are sorted, so that equal objects give equal lists, however they were stored.
 */

import { setField } from "@bigpeer/protocol";
import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import type { Run } from "../frame/frame.ts";
import { KEY_STEPS, sortedKeys } from "../value/compare.ts";
import { spend, spendLength } from "../value/cost-meter.ts";
import {
  type Datum,
  type DatumObject,
  Failure,
  isDatumArray,
  isDatumObject,
  isNumeric,
  MISSING,
  type MutableDatumObject,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import { OBJECT_TOO_LARGE } from "../value/size-bound.ts";
import { byteLength } from "../value/text-length.ts";
import { notBoolean, notKey, notObject } from "./argument.ts";
import { ANY_NUMBER, type FunctionSpec, inTurn } from "./function.ts";
import { chargeArray, chargeCopy } from "./growth.ts";

const KEY_EXISTS = new Failure(
  "expected a key that the object has not; true as last argument replaces",
);
const KEY_ABSENT = new Failure("expected a key of the object");

/** Approximate bytes of a field of an object. */
const FIELD_BYTES = 32;

/** Approximate bytes of an object with one field. */
const OBJECT_BYTES = 96;

export const OBJECT_FUNCTIONS: readonly FunctionSpec[] = [
  onObject("object_keys", keysOf),
  onObject("object_values", (object, run) =>
    keysOf(object, run).map((key) => object[key] as PresentDatum),
  ),
  onObject("object_length", (object) => countedKeys(object).length),
  onObject("object_size", contentSize),
  onKeys("object_field", [2, 2], field),
  { name: "object_set", arity: [3, 4], nulls: "see", apply: set },
  { name: "object_unset", arity: [2, 3], nulls: "see", apply: unset },
  onKeys("object_rename", [3, 3], rename),
  onObjects("object_concat", [2, ANY_NUMBER], concat),
  onObjects("object_content", [1, ANY_NUMBER], content),
];

/** A function of an object and field names; the first wrong argument determines the result. */
function onKeys(
  name: string,
  arity: FunctionSpec["arity"],
  apply: FunctionSpec["apply"],
): FunctionSpec {
  return { name, arity, nulls: "pass", checks: inTurn(notObject, notKey), apply };
}

/** A function of objects only; the first wrong argument determines the result. */
function onObjects(
  name: string,
  arity: FunctionSpec["arity"],
  apply: FunctionSpec["apply"],
): FunctionSpec {
  return { name, arity, nulls: "pass", checks: inTurn(notObject), apply };
}

type ApplyToObject = (object: DatumObject, run: Run) => Outcome;

function onObject(name: string, apply: ApplyToObject): FunctionSpec {
  return {
    name,
    arity: [1, 1],
    nulls: "pass",
    apply: ([object], run) =>
      isDatumObject(object) ? apply(object, run) : mismatch("an object", object),
  };
}

/** Keys of an object, with their cost charged: a document can hold many. */
function countedKeys(object: DatumObject): string[] {
  const keys = Object.keys(object);
  spend(keys.length / KEYS_PER_STEP);
  return keys;
}

const KEYS_PER_STEP = 4;

/** Cost of setting a field, in steps, and number of fields charged at once. */
const SET_STEPS = 0.75;
const FIELDS_COUNTED = 64;

function keysOf(object: DatumObject, run: Run): string[] {
  const keys = countedKeys(object);
  chargeArray(run, keys.length);
  return sortedKeys(keys);
}

/** Approximate bytes of content: 8 for a number, 1 for a boolean or null, else the text. */
function contentSize(datum: PresentDatum, run: Run): number {
  if (typeof datum === "string") {
    spendLength(datum.length);
    return byteLength(datum);
  }
  if (isNumeric(datum)) return 8;
  if (datum instanceof Uint8Array) return datum.length;
  if (datum === null || typeof datum === "boolean") return 1;
  let size = 0;
  if (isDatumArray(datum)) {
    for (const part of datum) {
      run.budget.step();
      size += contentSize(part, run);
    }
    return size;
  }
  for (const key of countedKeys(datum)) {
    run.budget.step();
    size += byteLength(key) + contentSize(datum[key] as PresentDatum, run);
  }
  return size;
}

function field([object, key]: readonly Datum[]): Outcome {
  if (!isDatumObject(object)) return mismatch("an object", object);
  if (typeof key !== "string") return mismatch("text for the key", key);
  return Object.hasOwn(object, key) ? object[key] : MISSING;
}

/** Reads an object and a field name, or returns the result of a call without them. */
function readField([object, key]: readonly Datum[]): readonly [DatumObject, string] | Outcome {
  if (object === null || object === MISSING) return object;
  if (!isDatumObject(object)) return mismatch("an object", object);
  if (key === null || key === MISSING) return key;
  return typeof key === "string" ? [object, key] : mismatch("text for the key", key);
}

/** object_set(object, key, value[, replaces]): null is a value; MISSING removes the field. */
function set(args: readonly Datum[], run: Run): Outcome {
  const place = readField(args);
  if (!isDatumArray(place)) return place;
  const [object, key] = place as [DatumObject, string];
  const [, , value, replaces] = args;
  if (args.length > 3 && replaces === MISSING) return MISSING;
  const wrong = args.length > 3 ? notBoolean(replaces) : undefined;
  if (wrong !== undefined) return wrong;
  if (replaces !== true && Object.hasOwn(object, key)) return KEY_EXISTS;
  const copy = copyOf(object, run, key);
  if (value !== MISSING) setField(copy, key, value);
  return copy;
}

/** object_unset(object, key[, ignoresAbsent]). */
function unset(args: readonly Datum[], run: Run): Outcome {
  const place = readField(args);
  if (!isDatumArray(place)) return place;
  const [object, key] = place as [DatumObject, string];
  const ignoresAbsent = args.length > 2 ? args[2] : false;
  if (ignoresAbsent === MISSING) return MISSING;
  const wrong = notBoolean(ignoresAbsent);
  if (wrong !== undefined) return wrong;
  if (!Object.hasOwn(object, key)) return ignoresAbsent === true ? object : KEY_ABSENT;
  return copyOf(object, run, key);
}

/** object_rename(object, from, to): replaces a field that has the new name. */
function rename([object, from, to]: readonly Datum[], run: Run): Outcome {
  if (!isDatumObject(object)) return mismatch("an object", object);
  if (typeof from !== "string") return mismatch("text for the key", from);
  if (typeof to !== "string") return mismatch("text for the key", to);
  if (!Object.hasOwn(object, from)) return KEY_ABSENT;
  const copy = copyOf(object, run, from);
  setField(copy, to, object[from] as PresentDatum);
  return copy;
}

/** Merges one level deep: of several fields with one name, the last wins. */
function concat(args: readonly Datum[], run: Run): Outcome {
  const all: MutableDatumObject = {};
  let count = 0;
  for (const object of args) {
    if (!isDatumObject(object)) return mismatch("an object", object);
    count += copyInto(all, object, run);
    if (count > COMPUTED_SIZE_MAX) return OBJECT_TOO_LARGE;
  }
  return all;
}

/** Returns each field as an object of its own. */
function content(args: readonly Datum[], run: Run): Outcome {
  const fields: DatumObject[] = [];
  for (const object of args) {
    if (!isDatumObject(object)) return mismatch("an object", object);
    const keys = keysOf(object, run);
    chargeCopy(run, keys.length * OBJECT_BYTES);
    for (const key of keys) {
      spend(KEY_STEPS);
      const one: MutableDatumObject = {};
      setField(one, key, object[key] as PresentDatum);
      fields.push(one);
    }
  }
  return fields;
}

function copyOf(object: DatumObject, run: Run, without?: string): MutableDatumObject {
  const copy: MutableDatumObject = {};
  copyInto(copy, object, run, without);
  return copy;
}

/** Copies fields; returns how many the object has. */
function copyInto(
  copy: MutableDatumObject,
  object: DatumObject,
  run: Run,
  without?: string,
): number {
  const keys = countedKeys(object);
  chargeCopy(run, keys.length * FIELD_BYTES);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (i % FIELDS_COUNTED === FIELDS_COUNTED - 1) spend(FIELDS_COUNTED * SET_STEPS);
    if (key !== without) setField(copy, key, object[key] as PresentDatum);
  }
  return keys.length;
}
