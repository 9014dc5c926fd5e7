/**
 * Documents from rows of CSV: dotted names are nested, types are inferred from the cells or given.
 */

import { PeerError, parseJson, type Value, type ValueObject } from "@bigpeer/protocol";
import { UsageError } from "../program/failure.ts";
import { unsafe } from "../terminal/csv.ts";
import { type Cell, SourceFault, type SourceRecord } from "./source-record.ts";

const TYPES = ["text", "number", "boolean", "json"] as const;

export type ColumnType = (typeof TYPES)[number];

/** Parses `id=text,price=number`. */
export function readColumnTypes(text: string): ReadonlyMap<string, ColumnType> {
  const types = new Map<string, ColumnType>();
  for (const part of text.split(",")) {
    const at = part.lastIndexOf("=");
    const name = part.slice(0, Math.max(0, at)).trim();
    const known = TYPES.find((each) => each === part.slice(at + 1).trim());
    if (name === "" || known === undefined)
      throw new UsageError(`--types: expected name=type with ${TYPES.join(", ")}, found "${part}"`);
    if (types.has(name)) throw new UsageError(`--types: expected "${name}" once`);
    types.set(name, known);
  }
  return types;
}

/** Throws UsageError for types of columns that the file does not have. */
export function checkColumnTypes(
  types: ReadonlyMap<string, ColumnType>,
  header: readonly (readonly string[])[],
): void {
  const columns = header.map((path) => path.join("."));
  for (const name of types.keys()) {
    if (columns.includes(name)) continue;
    throw new UsageError(`--types: expected columns of ${columns.join(", ")}, found "${name}"`);
  }
}

/** The path of each column, from the first row. Names are as an export writes them (csv.ts). */
export function readHeader({ cells = [], ...at }: SourceRecord): string[][] {
  const names = cells.map(({ text, isQuoted }) => unsafe(isQuoted ? text : text.trim()));
  for (const [index, name] of names.entries()) {
    if (name === "") throw new SourceFault(`expected a name of column ${index + 1}`, at);
    if (names.indexOf(name) !== index) throw new SourceFault(`expected "${name}" once`, at);
  }
  return names.map(pathOf);
}

/** Splits `address.city` at the dots. A backslash stands before a dot or a backslash of a name. */
function pathOf(name: string): string[] {
  const parts = `.${name}`.matchAll(/\.((?:\\[\\.]|[^.])*)/g);
  return [...parts].map(([, part = ""]) => part.replaceAll(/\\([\\.])/g, "$1"));
}

/** Throws SourceFault for a row with another number of cells, or a cell of another type. */
export function documentOfRow(
  record: SourceRecord,
  header: readonly (readonly string[])[],
  types: ReadonlyMap<string, ColumnType>,
): ValueObject {
  const { cells = [] } = record;
  if (cells.length !== header.length) {
    const reason = `expected ${header.length} cells, as in the first line, found ${cells.length}`;
    throw new SourceFault(reason, record);
  }
  const document: { [name: string]: Value } = {};
  for (const [at, path] of header.entries()) {
    const name = path.join(".");
    const value = valueOfCell(cells[at] as Cell, types.get(name), { name, record });
    if (value !== undefined) place(document, path, value, record);
  }
  return document;
}

function place(
  document: { [name: string]: Value },
  path: readonly string[],
  value: Value,
  record: SourceRecord,
): void {
  let inner = document;
  for (const name of path.slice(0, -1)) {
    const next = Object.hasOwn(inner, name) ? inner[name] : undefined;
    if (next === undefined) {
      const made = {};
      define(inner, name, made);
      inner = made;
    } else if (typeof next === "object" && next !== null && !Array.isArray(next)) {
      inner = next as { [name: string]: Value };
    } else
      throw new SourceFault(`expected an object at ${name}, because of ${path.join(".")}`, record);
  }
  define(inner, path.at(-1) ?? "", value);
}

/** Also a field that is named `__proto__`. */
function define(object: object, name: string, value: Value): void {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

interface CellPlace {
  readonly name: string;
  readonly record: SourceRecord;
}

/** Undefined for an empty cell, which is an absent field. */
function valueOfCell(
  { text, isQuoted }: Cell,
  type: ColumnType | undefined,
  at: CellPlace,
): Value | undefined {
  if (type === "text") return isQuoted || text !== "" ? unsafe(text) : undefined;
  if (type === undefined) return isQuoted ? quotedValue(text) : inferred(text);
  if (text === "") return undefined;
  return typed(text, type, at);
}

/** A list in quotes is one, because its commas need the quotes. */
function quotedValue(text: string): Value {
  return /^\s*[[{]/.test(text) ? jsonOrText(text) : unsafe(text);
}

function inferred(text: string): Value | undefined {
  if (text === "") return undefined;
  // A number with a leading zero is a code, such as a postcode.
  const isJson = /^(?:null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|[[{].*)$/.test(
    text,
  );
  return isJson ? jsonOrText(text) : unsafe(text);
}

function typed(text: string, type: ColumnType, { name, record }: CellPlace): Value {
  const value = jsonOf(text);
  const isRight =
    value !== undefined &&
    (type === "json" ||
      (type === "number" && (typeof value === "number" || typeof value === "bigint")) ||
      (type === "boolean" && typeof value === "boolean"));
  if (isRight) return value;
  throw new SourceFault(`expected ${type} in the column ${name}, found "${text}"`, record);
}

function jsonOrText(text: string): Value {
  const value = jsonOf(text);
  return value === undefined ? text : value;
}

/** Undefined for text that is no JSON. */
function jsonOf(text: string): Value | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof PeerError) return undefined;
    throw error;
  }
}
