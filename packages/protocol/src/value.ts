/**
 * Value: the type of everything that a field may hold, with its checks and its total order.
 *
 * Integers are exact to 64 bits: a JS number inside ±2^53, a bigint beyond. A number with integral
 * value is an integer; there is no stored difference between 7 and 7.0. `undefined` stands for
 * MISSING and is never inside a value. Values are immutable by convention, because they are shared
 * freely.
 *
 * Loops in the path of every write use `for … in`, which is twice as fast as a list of the keys. It
 * is safe because an object of a value is a plain one: all that is enumerable in it is its own.
 */

import { PeerError } from "./error.ts";

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Value[]
  | ValueObject;

export interface ValueObject {
  readonly [key: string]: Value;
}

/** An object under construction; see setField for why it is not written to directly. */
export type MutableObject = { [key: string]: Value };

export const INTEGER_MIN: bigint = -(2n ** 63n);
export const INTEGER_MAX: bigint = 2n ** 64n - 1n;
export const DEPTH_MAX = 64;

export function isArray(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value);
}

export function isObject(value: Value | undefined): value is ValueObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  );
}

/**
 * Assignment that keeps a key named `__proto__` a plain field instead of changing the prototype,
 * and keeps a key that looks like an index from reserving room for all smaller ones.
 */
export function setField<T>(target: { [key: string]: T }, key: string, value: NoInfer<T>): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    if (isSparseIndex(key)) keepSparse(target);
    target[key] = value;
  }
}

/** Whether a field of this name can be set directly. */
export function isPlainKey(key: string): boolean {
  return key !== "__proto__" && !isSparseIndex(key);
}

/** Whether the host would treat the key as an index in a mostly empty array. */
export function isSparseIndex(key: string): boolean {
  const { length } = key;
  // A longer one is too far from the end of any array; one below ten takes little room.
  if (length < 2 || length > 4) return false;
  const first = key.charCodeAt(0);
  return first >= 0x31 && first <= 0x39;
}

/**
 * Makes the host keep keys that look like indexes in a hash table. Otherwise an object with the one
 * field "1023" takes 12 KB. The largest index is added and removed for that effect alone.
 */
function keepSparse(target: { [key: string]: unknown }): void {
  if (Object.hasOwn(target, INDEX_MAX)) return;
  target[INDEX_MAX] = null;
  delete target[INDEX_MAX];
}

const INDEX_MAX = "4294967294";

/** Reads an own field only, so that `constructor` or `__proto__` are never found by accident. */
export function getField(object: ValueObject, key: string): Value | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Converts a bigint that fits a JS number exactly: the normal form of an integer (rule V2). */
export function normalInteger(integer: bigint): number | bigint {
  return integer >= -9007199254740991n && integer <= 9007199254740991n ? Number(integer) : integer;
}

/** A number beyond 2^53 is whole; inside 64 bits it becomes a bigint (rule V2). */
export function normalNumber(number: number): number | bigint {
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER) return number;
  return number >= -(2 ** 63) && number < 2 ** 64 ? BigInt(number) : number;
}

/** Nesting depth of arrays and objects: 0 for a scalar. */
export function levelsOf(value: Value): number {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return 0;
  let levels = 0;
  if (isArray(value)) for (const part of value) levels = Math.max(levels, levelsOf(part));
  else for (const key in value) levels = Math.max(levels, levelsOf(value[key] as Value));
  return levels + 1;
}

/**
 * Converts any input from outside to a Value in normal form, or throws a PeerError that names the
 * place. Returns the same object when nothing had to change. `around` allows more levels, for
 * containers around values.
 */
export function checkValue(input: unknown, at: string, around = 0): Value {
  if (typeof input === "object" && input !== null && checked.has(input)) return input as Value;
  // Nearly always all is well; the path of a place is built only when it is not.
  return isNormal(input, -around) ? input : check(input, at, -around);
}

/** Values that were checked while they were decoded, and whether all their numbers are finite. */
const checked = new WeakMap<object, boolean>();

/**
 * Notes that checkValue would return an incrementally decoded value unchanged, so that it need not
 * be walked at once. For an object this includes the values of its fields.
 */
export function noteChecked(value: Value, isFinite: boolean): void {
  note(value, isFinite);
  if (isObject(value)) for (const key of Object.keys(value)) note(value[key] as Value, isFinite);
}

function note(value: Value, isFinite: boolean): void {
  if (typeof value === "object" && value !== null) checked.set(value, isFinite);
}

/** Whether all numbers of a value are known to be finite; undefined when unknown. */
export function isKnownFinite(value: Value): boolean | undefined {
  return typeof value === "object" && value !== null ? checked.get(value) : undefined;
}

/** Whether `check` would return the very same input. */
function isNormal(input: unknown, depth: number): input is Value {
  if (typeof input === "string") return input.isWellFormed();
  if (typeof input === "number") return typeof normalNumber(input) === "number";
  if (typeof input === "object") return input === null || isNormalContainer(input, depth);
  return typeof input === "boolean";
}

function isNormalContainer(input: object, depth: number): boolean {
  if (input instanceof Uint8Array) return true;
  if (depth >= DEPTH_MAX) return false;
  if (Array.isArray(input)) {
    for (const element of input) if (!isNormal(element, depth + 1)) return false;
    return true;
  }
  if (Object.getPrototypeOf(input) !== Object.prototype) return false;
  const object = input as Record<string, unknown>;
  for (const key in object) {
    if (!key.isWellFormed() || !isNormal(object[key], depth + 1)) return false;
  }
  return true;
}

function check(input: unknown, at: string, depth: number): Value {
  switch (typeof input) {
    case "boolean":
      return input;
    case "number":
      return normalNumber(input);
    case "string":
      return checkString(input, at);
    case "bigint":
      return checkInteger(input, at);
    case "object":
      return input === null ? null : checkContainer(input, at, depth);
    default:
      throw new PeerError("value.invalid", `expected a value, found ${typeof input}`, { at });
  }
}

function checkString(input: string, at: string): string {
  if (input.isWellFormed()) return input;
  throw new PeerError("value.invalid", "expected well-formed text, found a lone surrogate", { at });
}

function checkInteger(input: bigint, at: string): number | bigint {
  if (input >= INTEGER_MIN && input <= INTEGER_MAX) return normalInteger(input);
  throw new PeerError("value.invalid", "expected an integer from -2^63 to 2^64-1", { at });
}

function checkContainer(input: object, at: string, depth: number): Value {
  if (input instanceof Uint8Array) return input;
  if (depth >= DEPTH_MAX) {
    throw new PeerError("value.invalid", `expected at most ${DEPTH_MAX} levels of nesting`, { at });
  }
  if (Array.isArray(input)) return checkArray(input, at, depth);
  const prototype: unknown = Object.getPrototypeOf(input);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new PeerError("value.invalid", objectFault(input), { at });
  }
  return checkObject(input as Record<string, unknown>, at, depth);
}

/** What to pass instead of the objects that most users try first. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["[object Date]", "a Date: give a text (toISOString()) or a number (getTime())"],
  ["[object Map]", "a Map: give a plain object (Object.fromEntries(map))"],
  ["[object Set]", "a Set: give an array ([...set])"],
]);

/** How much of the name of a class is repeated. */
const CLASS_SIZE_MAX = 64;

function objectFault(input: object): string {
  const instead = INSTEAD.get(Object.prototype.toString.call(input));
  if (instead !== undefined) return `expected a value, found ${instead}`;
  const name: unknown = input.constructor?.name;
  if (typeof name !== "string" || name === "") return "expected a plain object";
  const shown = name.slice(0, CLASS_SIZE_MAX).toWellFormed();
  return `expected a plain object, found an object of the class ${shown}`;
}

function checkArray(input: unknown[], at: string, depth: number): Value {
  let copy: Value[] | undefined;
  for (let i = 0; i < input.length; i++) {
    const element = check(input[i], `${at}[${i}]`, depth + 1);
    if (copy === undefined && element !== input[i] && !Number.isNaN(element)) {
      copy = (input as Value[]).slice(0, i);
    }
    copy?.push(element);
  }
  return copy ?? (input as Value[]);
}

function checkObject(input: Record<string, unknown>, at: string, depth: number): Value {
  let copy: MutableObject | undefined;
  for (const key of Object.keys(input)) {
    checkString(key, `${at}, a key`);
    const field = check(input[key], `${at}.${key}`, depth + 1);
    if (field === input[key] || Number.isNaN(field)) continue;
    copy ??= { ...(input as MutableObject) };
    setField(copy, key, field);
  }
  return copy ?? (input as ValueObject);
}

/** Rank in the total order: boolean, number, binary, string, array, object, null, MISSING. */
function typeRank(value: Value | undefined): number {
  switch (typeof value) {
    case "boolean":
      return 0;
    case "number":
    case "bigint":
      return 1;
    case "string":
      return 3;
    case "undefined":
      return 7;
    default:
      if (value === null) return 6;
      if (value instanceof Uint8Array) return 2;
      return Array.isArray(value) ? 4 : 5;
  }
}

/**
 * The total order of values across types. Numbers compare exactly, whatever their JS type; strings
 * and object keys by code point; arrays by element, then length; objects as their entries sorted by
 * key. NaN is one value, above all other numbers. -0 and 0 are equal here.
 */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  const rank = typeRank(a) - typeRank(b);
  if (rank !== 0) return rank < 0 ? -1 : 1;
  switch (typeof a) {
    case "boolean":
      return Number(a) - Number(b);
    case "number":
    case "bigint":
      return compareNumbers(a, b as number | bigint);
    case "string":
      return compareText(a, b as string);
    case "undefined":
      return 0;
    default:
      return a === null
        ? 0
        : compareContainers(a, b as Uint8Array | readonly Value[] | ValueObject);
  }
}

/** Whether compareValues finds no difference, without sorting anything. */
export function equalValues(a: Value | undefined, b: Value | undefined): boolean {
  // Equal text is identical, and the most frequent case.
  if (a === b || typeof a === "string") return a === b;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return compareValues(a, b) === 0;
  }
  if (isArray(a)) return isArray(b) && equalArrays(a, b);
  return isObject(a) && isObject(b) ? equalObjects(a, b) : compareValues(a, b) === 0;
}

function equalArrays(a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equalValues(a[i], b[i])) return false;
  return true;
}

function equalObjects(a: ValueObject, b: ValueObject): boolean {
  let count = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !equalValues(a[key], b[key])) return false;
    count++;
  }
  return Object.keys(b).length === count;
}

export function compareNumbers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  // Neither below nor above: equal, or at least one is NaN.
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
}

/** Order by code point, as of UTF-8 bytes. UTF-16 units have another order above U+D7FF. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    const surrogates = Number(isSurrogate(x)) - Number(isSurrogate(y));
    return surrogates !== 0 ? surrogates : Math.sign(x - y);
  }
  return Math.sign(a.length - b.length);
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return Math.sign(difference);
  }
  return Math.sign(a.length - b.length);
}

type Container = Uint8Array | readonly Value[] | ValueObject;

function compareContainers(a: Container, b: Container): number {
  if (a instanceof Uint8Array) return compareBytes(a, b as Uint8Array);
  if (isArray(a)) return compareArrays(a, b as readonly Value[]);
  return compareObjects(a, b as ValueObject);
}

function compareArrays(a: readonly Value[], b: readonly Value[]): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i], b[i]);
    if (order !== 0) return order;
  }
  return Math.sign(a.length - b.length);
}

function compareObjects(a: ValueObject, b: ValueObject): number {
  const x = sortedKeys(a);
  const y = sortedKeys(b);
  const length = Math.min(x.length, y.length);
  for (let i = 0; i < length; i++) {
    const keyA = x[i] as string;
    const keyB = y[i] as string;
    const order = compareText(keyA, keyB) || compareValues(a[keyA], b[keyB]);
    if (order !== 0) return order;
  }
  return Math.sign(x.length - y.length);
}

export function sortedKeys(object: ValueObject): string[] {
  return Object.keys(object).sort(compareText);
}
