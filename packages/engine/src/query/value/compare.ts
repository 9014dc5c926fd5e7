/**
 * Comparison of data: a total order for sorting and grouping, and the comparison operators.
 *
 * `compareData`, `equalData` and `dataKey` are total and consistent with each other. ORDER BY,
 * GROUP BY, DISTINCT, sets, MIN and MAX use them. They follow the order of values in documents and
 * indexes: 1 equals 1.0, null equals null, MISSING equals MISSING.
 *
 * `orderComparable` and `equalComparable` are the operators `< <= > >=` and `= !=`. Incomparable
 * operands, including NaN, give MISSING; a null gives null.
 */

import {
  byteString,
  compareBytes,
  compareNumbers,
  compareText,
  normalNumber,
} from "@bigpeer/protocol";
import { grow, spend, spendLength } from "./cost-meter.ts";
import {
  type Datum,
  type DatumObject,
  Float,
  isDatumArray,
  type PresentDatum,
  unboxNumber,
} from "./datum.ts";

const NUMBER_RANK = 1;
const STRING_RANK = 3;
const OBJECT_RANK = 5;

/** boolean < number < binary < string < array < object < null < MISSING. */
function rankOf(datum: Datum): number {
  switch (typeof datum) {
    case "boolean":
      return 0;
    case "number":
    case "bigint":
      return NUMBER_RANK;
    case "string":
      return STRING_RANK;
    case "undefined":
      return 7;
    default:
      if (datum === null) return 6;
      if (datum instanceof Float) return NUMBER_RANK;
      if (datum instanceof Uint8Array) return 2;
      return Array.isArray(datum) ? 4 : OBJECT_RANK;
  }
}

/** Total order of all data, as -1, 0 or 1, consistent with compareValues. */
export function compareData(a: Datum, b: Datum): number {
  if (typeof a === "number" && typeof b === "number") return compareNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  const rank = rankOf(a) - rankOf(b);
  if (rank !== 0) return rank < 0 ? -1 : 1;
  return compareAlike(a, b, compareData, compareEntries);
}

function compareTexts(a: string, b: string): number {
  spendLength(Math.min(a.length, b.length));
  return compareText(a, b);
}

export function equalData(a: Datum, b: Datum): boolean {
  return a === b || compareData(a, b) === 0;
}

/**
 * The operators `< <= > >=`: negative, 0 or positive; null if a null leaves it undecided; undefined
 * (MISSING) if the types differ or an operand is MISSING.
 *
 * Arrays compare by the first elements that differ, then by length. Objects compare by the first
 * key, in key order, at which they differ; the object without that key is less.
 */
export function orderComparable(a: Datum, b: Datum): number | null | undefined {
  if (typeof a === "number" && typeof b === "number") return orderNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (a === undefined || b === undefined) return undefined;
  if (a === null || b === null) return null;
  if (rankOf(a) !== rankOf(b) || isNotANumber(a) || isNotANumber(b)) return undefined;
  return compareAlike(a, b, orderComparable, orderObjects);
}

/** Order of two numbers; undefined for NaN. */
function orderNumbers(a: number, b: number): number | undefined {
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b ? 0 : undefined;
}

function isNotANumber(datum: Datum): boolean {
  return typeof datum === "number" && Number.isNaN(datum);
}

/**
 * The operators `=` and `!=`. Arrays compare by the first elements that are not equal, then by
 * length; objects compare in key order.
 */
export function equalComparable(a: Datum, b: Datum): boolean | null | undefined {
  if (typeof a === "string" && typeof b === "string") return equalTexts(a, b);
  if (a === undefined || b === undefined) return undefined;
  if (a === null || b === null) return null;
  const rank = rankOf(a);
  if (rank !== rankOf(b) || isNotANumber(a) || isNotANumber(b)) return undefined;
  if (isDatumArray(a)) return equalArrays(a, b as readonly PresentDatum[]);
  if (rank !== OBJECT_RANK) return compareData(a, b) === 0;
  return equalObjects(a as DatumObject, b as DatumObject);
}

function equalTexts(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  spendLength(a.length);
  return a === b;
}

type ElementOrder<T> = (a: PresentDatum, b: PresentDatum) => T;

/** Compares two data of one rank; the caller provides the comparison of elements and objects. */
function compareAlike<T extends number | null | undefined>(
  a: Datum,
  b: Datum,
  compareElements: ElementOrder<T>,
  compareObjects: (a: DatumObject, b: DatumObject) => T,
): T | number {
  switch (typeof a) {
    case "boolean":
      return Number(a) - Number(b);
    case "number":
    case "bigint":
      return compareNumbers(a, unboxNumber(b as number | bigint | Float));
    case "string":
      return compareText(a, b as string);
    case "undefined":
      return 0;
    default:
      if (a === null) return 0;
      if (a instanceof Float)
        return compareNumbers(a.value, unboxNumber(b as number | bigint | Float));
      if (a instanceof Uint8Array) return compareBinary(a, b as Uint8Array);
      return isDatumArray(a)
        ? compareArrays(a, b as readonly PresentDatum[], compareElements)
        : compareObjects(a, b as DatumObject);
  }
}

function compareBinary(a: Uint8Array, b: Uint8Array): number {
  // Byte by byte: slower than text.
  spendLength(8 * Math.min(a.length, b.length));
  return compareBytes(a, b);
}

function compareArrays<T>(
  a: readonly PresentDatum[],
  b: readonly PresentDatum[],
  compareElements: ElementOrder<T>,
): T | number {
  const length = Math.min(a.length, b.length);
  spend(length);
  for (let i = 0; i < length; i++) {
    const order = compareElements(a[i] as PresentDatum, b[i] as PresentDatum);
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}

/** Compares objects as sorted entries, each first by key, then by value. */
function compareEntries(a: DatumObject, b: DatumObject): number {
  const x = keysOf(a);
  const y = keysOf(b);
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) {
    spend(FIELD_STEPS);
    const order = compareTexts(x[i] as string, y[i] as string) || compareAt(a, b, x[i] as string);
    if (order !== 0) return order;
  }
  return Math.sign(x.length - y.length);
}

function compareAt(a: DatumObject, b: DatumObject, key: string): number {
  return compareData(a[key], b[key]);
}

function orderObjects(a: DatumObject, b: DatumObject): number | null | undefined {
  const x = keysOf(a);
  const y = keysOf(b);
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) {
    spend(FIELD_STEPS);
    const key = x[i] as string;
    // The other object lacks the lesser of two keys.
    const lacking = compareTexts(y[i] as string, key);
    const order = lacking === 0 ? orderComparable(a[key], b[key]) : lacking;
    if (order !== 0) return order;
  }
  return Math.sign(x.length - y.length);
}

/** Sorted keys of objects with many fields, which may be compared often. */
const KNOWN_KEYS = new WeakMap<DatumObject, readonly string[]>();
const MANY_KEYS = 32;

function keysOf(object: DatumObject): readonly string[] {
  const known = KNOWN_KEYS.get(object);
  if (known !== undefined) return known;
  const keys = Object.keys(object);
  spend(keys.length);
  sortedKeys(keys);
  if (keys.length >= MANY_KEYS) KNOWN_KEYS.set(object, keys);
  return keys;
}

/** Sorts keys in text order and charges the work: a document can hold many. */
export function sortedKeys(keys: string[]): string[] {
  return keys.sort((a, b) => {
    spend(COMPARISON_STEPS);
    return compareTexts(a, b);
  });
}

/** Like `sortedKeys`, with one pass if the keys are already in order. */
export function orderedKeys(keys: string[]): string[] {
  for (let i = 1; i < keys.length; i++) {
    spend(COMPARISON_STEPS);
    if (compareTexts(keys[i - 1] as string, keys[i] as string) > 0) return sortedKeys(keys);
  }
  return keys;
}

/** Cost of listing, finding or reading a field of an object, in steps. */
const FIELD_STEPS = 0.25;

/** Cost of comparing two data, in steps, without the length of long ones. */
export const COMPARISON_STEPS = 0.125;

function equalArrays(
  a: readonly PresentDatum[],
  b: readonly PresentDatum[],
): boolean | null | undefined {
  const length = Math.min(a.length, b.length);
  spend(length);
  for (let i = 0; i < length; i++) {
    const isEqual = equalComparable(a[i], b[i]);
    if (isEqual !== true) return isEqual;
  }
  return a.length === b.length;
}

function equalObjects(a: DatumObject, b: DatumObject): boolean | null | undefined {
  const x = keysOf(a);
  const y = keysOf(b);
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) {
    spend(2 * FIELD_STEPS);
    const key = x[i] as string;
    if (key !== y[i]) return false;
    const isEqual = equalComparable(a[key], b[key]);
    if (isEqual !== true) return isEqual;
  }
  return x.length === y.length;
}

/**
 * Text that is equal for two data exactly if equalData holds; it has no useful order. Keys are not
 * self-delimiting: joinKeys combines several.
 */
export function dataKey(datum: Datum): string {
  switch (typeof datum) {
    case "string":
      return `s${countedText(datum)}`;
    case "number":
      return `n${normalNumber(datum)}`;
    case "bigint":
      return `n${datum}`;
    case "boolean":
      return datum ? "t" : "f";
    case "undefined":
      return "m";
    default:
      if (datum === null) return "z";
      if (datum instanceof Float) return `n${normalNumber(datum.value)}`;
      if (datum instanceof Uint8Array) return `b${countedText(byteString(datum))}`;
      return isDatumArray(datum) ? `a${elementsKey(datum)}` : `o${fieldsKey(datum)}`;
  }
}

/** Charges the text of a key: keys hold all the text of a datum, and shared text repeatedly. */
function countedText(text: string): string {
  spendLength(text.length);
  if (text.length > LARGE_LENGTH) grow(2 * text.length);
  return text;
}

const LARGE_LENGTH = 4096;

function elementsKey(array: readonly PresentDatum[]): string {
  let joined = "";
  let counted = 0;
  for (const element of array) {
    spend(1);
    joined += sized(dataKey(element));
    counted += PART_BYTES;
    if (counted < LARGE_BYTES) continue;
    grow(counted);
    counted = 0;
  }
  return joined;
}

/** Approximate bytes of a part of a key before the key is flattened. */
const PART_BYTES = 64;
const LARGE_BYTES = 64 * 1024;

function fieldsKey(object: DatumObject): string {
  const names = Object.keys(object);
  spend(names.length);
  let key = "";
  // Any fixed order works. The built-in sort is the fastest but cannot be interrupted.
  if (names.length > HOST_SORT_MAX) sortedKeys(names);
  else names.sort();
  for (const name of names) {
    spend(FIELD_STEPS);
    key += sized(countedText(name)) + sized(dataKey(object[name]));
  }
  return key;
}

/** Cost of making a key and looking it up, in steps. */
export const KEY_STEPS = 0.5;

const HOST_SORT_MAX = 4096;

/**
 * Returns a filter that accepts the first of equal data. `keep` receives the bytes of each key
 * before it is stored.
 */
export function firstOfEquals(keep?: (bytes: number) => void): (datum: Datum) => boolean {
  const seen = new Set<string>();
  return (datum) => {
    spend(KEY_STEPS);
    const key = dataKey(datum);
    if (seen.has(key)) return false;
    keep?.(2 * key.length);
    seen.add(key);
    return true;
  };
}

/** Joins keys into one that no other list of keys has. */
export function joinKeys(keys: readonly string[]): string {
  let joined = "";
  for (const key of keys) joined += sized(key);
  return joined;
}

/** Prefixes a part with its length, which makes it self-delimiting. */
function sized(part: string): string {
  return `${part.length}:${part}`;
}
