/**
 * Filters of documents: rows of field, operator and value, or a condition in the words of a
 * statement. Values go to the server as arguments.
 */
import { numberText, parseExact, stringifyExact, wholeNumber } from "@bigpeer/client/exact-json";
import { fieldText, parsePath } from "../values/names.ts";

export const OPERATORS = {
  "=": "is",
  "!=": "is not",
  "<": "<",
  "<=": "≤",
  ">": ">",
  ">=": "≥",
  contains: "contains",
  starts: "starts with",
  in: "is one of",
  null: "is null",
  exists: "exists",
  missing: "is missing",
} as const;

export type Operator = keyof typeof OPERATORS;

export const VALUE_TYPES = ["text", "number", "boolean", "json"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

export interface FilterRow {
  readonly field: string;
  readonly operator: Operator;
  readonly type: ValueType;
  readonly value: string;
}

/** A condition and the arguments that it names. An empty text is no condition. */
export interface Condition {
  readonly text: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export const EVERYTHING: Condition = { text: "", args: {} };

const WITHOUT_VALUE: ReadonlySet<Operator> = new Set(["null", "exists", "missing"]);

export function needsValue(operator: Operator): boolean {
  return !WITHOUT_VALUE.has(operator);
}

/** Why a row cannot be used; undefined if it can. */
export function faultOf(row: FilterRow): string | undefined {
  if (parsePath(row.field) === undefined) return "expected the name of a field";
  if (!needsValue(row.operator)) return undefined;
  const value = parseValue(row);
  return value === undefined ? `expected ${EXPECTED[row.type]}` : undefined;
}

const EXPECTED: Readonly<Record<ValueType, string>> = {
  text: "text",
  number: "a number",
  boolean: "true or false",
  json: "JSON",
};

/** The condition that all rows together make. Rows that cannot be used are left out. */
export function conditionOf(collection: string, rows: readonly FilterRow[]): Condition {
  const args: Record<string, unknown> = {};
  const tests = usable(rows).map((row, i) => {
    return testOf(collection, row, (value) => {
      args[`f${i}`] = value;
      return `:f${i}`;
    });
  });
  return { text: tests.join(" AND "), args };
}

/** The condition as one text, with its values in it, to go on with as a statement. */
export function conditionText(collection: string, rows: readonly FilterRow[]): string {
  return usable(rows)
    .map((row) => testOf(collection, row, literal))
    .join(" AND ");
}

function usable(rows: readonly FilterRow[]): readonly FilterRow[] {
  return rows.filter((row) => faultOf(row) === undefined);
}

export function literal(value: unknown): string {
  if (typeof value === "string")
    return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "number" || typeof value === "bigint") return numberText(value);
  if (typeof value !== "object" || value === null) return String(value);
  const pairs = Object.entries(value).map(([key, each]) => `${literal(key)}: ${literal(each)}`);
  return `{${pairs.join(", ")}}`;
}

/** `write` gives the text of the value. */
function testOf(collection: string, row: FilterRow, write: (value: unknown) => string): string {
  const path = fieldText(collection, parsePath(row.field) ?? []);
  switch (row.operator) {
    case "null":
      return `${path} IS NULL`;
    case "exists":
      return `${path} IS NOT MISSING`;
    case "missing":
      return `${path} IS MISSING`;
    case "contains":
      return `contains(${path}, ${write(parseValue(row))})`;
    case "starts":
      return `starts_with(${path}, ${write(parseValue(row))})`;
    case "in":
      return `${path} IN ${write(parseValue(row))}`;
    default:
      return `${path} ${row.operator} ${write(parseValue(row))}`;
  }
}

/** The value of a row; undefined if its text is none of its type. */
function parseValue({ operator, type, value }: FilterRow): unknown {
  if (operator === "in") return parseList(value, type);
  if (operator === "contains" || operator === "starts") return value;
  return parseTyped(value, type);
}

/** JSON, or texts of the type with commas between them. */
function parseList(text: string, type: ValueType): readonly unknown[] | undefined {
  if (type === "json") {
    const value = parseTyped(text, type);
    return Array.isArray(value) ? value : undefined;
  }
  const values = text.split(",").map((part) => parseTyped(part.trim(), type));
  return values.includes(undefined) ? undefined : values;
}

export function parseTyped(text: string, type: ValueType): unknown {
  if (type === "text") return text;
  if (type === "number") return parseNumber(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function parseNumber(text: string): number | bigint | undefined {
  if (/^\s*-?\d+\s*$/.test(text)) return wholeNumber(text.trim());
  const number = Number(text);
  return text.trim() === "" || !Number.isFinite(number) ? undefined : number;
}

/** Rows as a value of the address. */
export function formatRows(rows: readonly FilterRow[]): string {
  if (rows.length === 0) return "";
  return stringifyExact(
    rows.map(({ field, operator, type, value }) => [field, operator, type, value]),
  );
}

/** The rows of an address. What is none is left out. */
export function parseRows(text: string | undefined): readonly FilterRow[] {
  const rows = parseTyped(text ?? "", "json");
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: unknown) => {
    if (!Array.isArray(row)) return [];
    const [field, operator, type, value] = row as readonly unknown[];
    const isRow =
      typeof field === "string" &&
      typeof value === "string" &&
      Object.hasOwn(OPERATORS, String(operator)) &&
      (VALUE_TYPES as readonly unknown[]).includes(type);
    return isRow ? [{ field, operator: operator as Operator, type: type as ValueType, value }] : [];
  });
}
