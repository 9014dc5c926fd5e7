/**
 * Field checks: validators of the fields of sync messages. The name of each describes exactly what
 * it accepts, so the names together describe the shape of the protocol.
 *
 * A check returns its input without unknown fields. The path of a fault is built as it propagates,
 * because nearly always there is none.
 */

import { encodeCbor } from "../cbor.ts";
import { documentId } from "../document-id.ts";
import { PeerError } from "../error.ts";
import { isSite, type Site } from "../stamp.ts";
import {
  checkValue,
  DEPTH_MAX,
  isArray,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "../value.ts";

export interface FieldCheck<T> {
  readonly name: string;
  read(input: Value | undefined): T;
  /** As read, with pauses; for input that may be large. */
  readIncremental?(input: Value | undefined): Generator<void, T>;
}

/** Elements of a list between two pauses; fewer where they may be ids of a kilobyte. */
const TURN_ELEMENTS = 10_000;
const TURN_IDS = 1_000;

/** A field that may be left out. */
export interface OptionalCheck<T> {
  readonly optional: FieldCheck<T>;
}

export type FieldChecks = {
  readonly [field: string]: FieldCheck<unknown> | OptionalCheck<unknown>;
};

/** The checks of all fields of T: the compiler finds one that is missing, or not optional. */
export type ChecksOf<T> = {
  readonly [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K>
    ? OptionalCheck<Exclude<T[K], undefined>>
    : FieldCheck<T[K]>;
};

/** Input that a check does not accept; `place` grows as it propagates. */
export class Misfit extends Error {
  readonly place: string;

  constructor(message: string, place = "") {
    super(message);
    this.name = "Misfit";
    this.place = place;
  }
}

/** The same fault, with its place seen from one level further out. */
function within(error: unknown, step: string): unknown {
  if (!(error instanceof Misfit)) return error;
  const joint = error.place === "" || error.place.startsWith("[") ? "" : ".";
  return new Misfit(error.message, `${step}${joint}${error.place}`);
}

function misfit(expected: string, input: Value | undefined): never {
  throw new Misfit(`expected ${expected}, found ${describe(input)}`);
}

function describe(input: Value | undefined): string {
  if (input === undefined) return "nothing";
  if (input === null) return "null";
  if (input instanceof Uint8Array) return `${input.length} bytes`;
  if (isArray(input)) return `a list of ${input.length}`;
  if (typeof input === "object") return "an object";
  if (typeof input === "string") {
    return input.length > 40 ? `text of ${input.length} characters` : JSON.stringify(input);
  }
  return String(input);
}

/** A check by a predicate; its name is the expectation in the error message. */
function plain<T>(name: string, isFit: (input: Value | undefined) => boolean): FieldCheck<T> {
  return { name, read: (input) => (isFit(input) ? (input as T) : misfit(name, input)) };
}

export function optional<T>(check: FieldCheck<T>): OptionalCheck<T> {
  return { optional: check };
}

export const text: FieldCheck<string> = plain("text", (input) => typeof input === "string");

export function textUpTo(size: number): FieldCheck<string> {
  return plain(
    `text of at most ${size} characters`,
    (input) => typeof input === "string" && input.length <= size,
  );
}

export function integerFrom(least: number): FieldCheck<number> {
  return plain(
    `an integer from ${least} to 2^53-1`,
    (input) => Number.isSafeInteger(input) && (input as number) >= least && !Object.is(input, -0),
  );
}

export const number: FieldCheck<number> = plain("a number", (input) => typeof input === "number");

export const isTrue: FieldCheck<true> = plain("true", (input) => input === true);

export const flag: FieldCheck<boolean> = plain(
  "true or false",
  (input) => typeof input === "boolean",
);

export const bytes: FieldCheck<Uint8Array> = plain(
  "binary",
  (input) => input instanceof Uint8Array,
);

export function bytesOfSize(size: number): FieldCheck<Uint8Array> {
  return plain(`${size} bytes`, (input) => input instanceof Uint8Array && input.length === size);
}

export const site: FieldCheck<Site> = plain("a site (16 hexadecimal digits)", isSite);

/** The site of a stamp: site 0 is allowed. */
export const siteOfStamp: FieldCheck<Site> = plain(
  "the site of a stamp (16 hexadecimal digits)",
  (input) => typeof input === "string" && /^[0-9a-f]{16}$/.test(input),
);

export const object: FieldCheck<ValueObject> = plain("an object", isObject);

export const list: FieldCheck<readonly unknown[]> = plain("a list", isArray);

/** Any value, no deeper than one may be. */
export const value: FieldCheck<Value> = {
  name: "a value",
  read(input) {
    if (input === undefined) return misfit("a value", input);
    requireFlat(input);
    return input;
  },
};

/** An object of values, no deeper than a value may be. */
export const values: FieldCheck<ValueObject> = {
  name: "an object of values",
  read(input) {
    if (!isObject(input)) return misfit("an object of values", input);
    requireFlat(input);
    return input;
  },
};

/**
 * Decoding has already checked the value, except for the levels of the message around it. So only
 * the depth is checked: there may be millions of numbers.
 */
function requireFlat(input: Value): void {
  if (isDeeperThan(DEPTH_MAX, input)) checkInner(() => checkValue(input, ""));
}

function isDeeperThan(depth: number, input: Value): boolean {
  if (typeof input !== "object" || input === null || input instanceof Uint8Array) return false;
  if (depth === 0) return true;
  if (!isArray(input)) {
    for (const key in input) {
      if (isDeeperThan(depth - 1, input[key] as Value)) return true;
    }
    return false;
  }
  for (const element of input) {
    if (typeof element === "object" && isDeeperThan(depth - 1, element)) return true;
  }
  return false;
}

export function valuesUpTo(size: number): FieldCheck<ValueObject> {
  const name = `an object of values of at most ${size} bytes`;
  return {
    name,
    read(input) {
      const read = values.read(input);
      return encodeCbor(read).length <= size ? read : misfit(name, input);
    },
  };
}

/** A document id as it was sent; the receiver converts it to its canonical form. */
export const id: FieldCheck<Value> = {
  name: "a document id",
  read(input) {
    if (input === undefined) return misfit("a document id", input);
    checkInner(() => documentId(input));
    return input;
  },
};

/** Turns the PeerError of an inner check into a Misfit. */
function checkInner(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw error instanceof PeerError ? new Misfit(error.message) : error;
  }
}

export function wordOf<T extends string>(words: readonly T[]): FieldCheck<T> {
  return plain(`one of ${words.join(", ")}`, (input) => words.some((word) => word === input));
}

export function orNull<T>(check: FieldCheck<T>): FieldCheck<T | null> {
  return {
    name: `${check.name} or null`,
    read: (input) => (input === null ? null : check.read(input)),
  };
}

export function listOf<T>(
  check: FieldCheck<T>,
  atOnce: number = TURN_ELEMENTS,
): FieldCheck<readonly T[]> {
  return {
    name: `a list of (${check.name})`,
    read(input) {
      if (!isArray(input)) return misfit("a list", input);
      const elements: T[] = [];
      try {
        for (const element of input) elements.push(check.read(element));
      } catch (error) {
        throw within(error, `[${elements.length}]`);
      }
      return elements;
    },
    *readIncremental(input) {
      if (!isArray(input)) return misfit("a list", input);
      const isSimple = check.readIncremental === undefined;
      const elements: T[] = [];
      try {
        for (const element of input) {
          elements.push(isSimple ? check.read(element) : yield* inTurns(check, element));
          if (elements.length % atOnce === 0) yield;
        }
      } catch (error) {
        throw within(error, `[${elements.length}]`);
      }
      return elements;
    },
  };
}

function* inTurns<T>(check: FieldCheck<T>, input: Value | undefined): Generator<void, T> {
  return check.readIncremental === undefined
    ? check.read(input)
    : yield* check.readIncremental(input);
}

/** As listOf; a longer list is refused without a look at its elements. */
export function listUpTo<T>(size: number, check: FieldCheck<T>): FieldCheck<readonly T[]> {
  const inner = listOf(check, TURN_IDS);
  const name = `a list of at most ${size} (${check.name})`;
  return {
    name,
    read: (input) =>
      isArray(input) && input.length > size ? misfit(name, input) : inner.read(input),
    *readIncremental(input) {
      if (isArray(input) && input.length > size) misfit(name, input);
      return yield* inTurns(inner, input);
    },
  };
}

type Elements<T extends readonly unknown[]> = { readonly [I in keyof T]: FieldCheck<T[I]> };

/** An array of fixed length, each element with its own meaning. */
export function tupleOf<T extends readonly unknown[]>(...checks: Elements<T>): FieldCheck<T> {
  const parts = checks as readonly FieldCheck<unknown>[];
  return {
    name: `[${parts.map(({ name }) => name).join("; ")}]`,
    read(input) {
      if (!isArray(input) || input.length !== parts.length) {
        return misfit(`a list of exactly ${parts.length}`, input);
      }
      let index = 0;
      try {
        for (const part of parts) part.read(input[index++]);
      } catch (error) {
        throw within(error, `[${index - 1}]`);
      }
      return input as unknown as T;
    },
  };
}

/** Arrays whose first element determines the form of the others. */
export function oneOf<T extends readonly unknown[]>(forms: {
  readonly [kind: string]: FieldCheck<T>;
}): FieldCheck<T> {
  const kinds = Object.keys(forms);
  return {
    name: kinds.map((kind) => `${kind} ${forms[kind]?.name ?? ""}`).join(" | "),
    read(input) {
      if (!isArray(input)) return misfit("a list", input);
      const kind = input[0];
      const form = typeof kind === "string" && Object.hasOwn(forms, kind) ? forms[kind] : undefined;
      if (form !== undefined) return form.read(input);
      throw within(
        new Misfit(`expected one of ${kinds.join(", ")}, found ${describe(kind)}`),
        "[0]",
      );
    },
  };
}

export function objectOf<T>(checks: ChecksOf<T>): FieldCheck<T> {
  const fields = checks as FieldChecks;
  return {
    name: `{ ${describeFields(fields).join("; ")} }`,
    read: (input) =>
      isObject(input) ? (readFields(input, fields, {}) as T) : misfit("an object", input),
    *readIncremental(input) {
      if (!isObject(input)) return misfit("an object", input);
      return (yield* readFieldsIncremental(input, fields, {})) as T;
    },
  };
}

/** As objectOf, but returns the input object itself: a digest may cover it. */
export function sameObjectOf<T>(checks: ChecksOf<T>): FieldCheck<T> {
  const inner = objectOf(checks);
  return {
    name: `${inner.name} as it is`,
    read(input) {
      inner.read(input);
      return input as T;
    },
    *readIncremental(input) {
      yield* inTurns(inner, input);
      return input as T;
    },
  };
}

export function describeFields(fields: FieldChecks): string[] {
  return Object.entries(fields).map(([field, check]) =>
    "optional" in check ? `${field}?: ${check.optional.name}` : `${field}: ${check.name}`,
  );
}

/** Reads the known fields into `target`. */
export function readFields(
  input: ValueObject,
  fields: FieldChecks,
  target: MutableObject,
): MutableObject {
  for (const field in fields) {
    const check = fields[field] as FieldChecks[string];
    const given = Object.hasOwn(input, field) ? input[field] : undefined;
    if ("optional" in check && given === undefined) continue;
    try {
      const read = "optional" in check ? check.optional.read(given) : check.read(given);
      setField(target, field, read as Value);
    } catch (error) {
      throw within(error, field);
    }
  }
  return target;
}

/** As readFields, with pauses. */
export function* readFieldsIncremental(
  input: ValueObject,
  fields: FieldChecks,
  target: MutableObject,
): Generator<void, MutableObject> {
  for (const field in fields) {
    const check = fields[field] as FieldChecks[string];
    const given = Object.hasOwn(input, field) ? input[field] : undefined;
    if ("optional" in check && given === undefined) continue;
    try {
      const read = yield* inTurns("optional" in check ? check.optional : check, given);
      setField(target, field, read as Value);
    } catch (error) {
      throw within(error, field);
    }
  }
  return target;
}
