/**
 * Edits of documents as statements, each with the edit that undoes it. A register that holds an
 * object is declared, because a plain object would be written as a map.
 */
import { numberText } from "@bigpeer/client/exact-json";
import { fieldText, pathText, quoteName, setOwn } from "../values/names.ts";
import { kindOf } from "../values/show-value.ts";
import type { TypedField } from "./typed-fields.ts";

export interface Edit {
  /** What was done, for a message: `Changed price`. */
  readonly title: string;
  readonly collection: string;
  readonly id: unknown;
  readonly change: Change;
}

export type Change =
  /** Writes a register. */
  | { readonly kind: "set"; readonly path: readonly string[]; readonly value: unknown }
  | {
      readonly kind: "increment";
      readonly path: readonly string[];
      readonly by: number | bigint;
      readonly isOld?: boolean;
    }
  | { readonly kind: "unset"; readonly path: readonly string[] }
  /** Writes fields as they were, each with its type. */
  | { readonly kind: "restore"; readonly fields: readonly TypedField[] }
  | { readonly kind: "insert"; readonly fields: readonly TypedField[] }
  | { readonly kind: "delete" };

export interface EditStatement {
  readonly text: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Runs after it. */
  readonly next?: EditStatement;
}

export function statementOf({ collection, id, change }: Edit): EditStatement {
  const name = quoteName(collection);
  const where = `WHERE ${fieldText(collection, ["_id"])} = :id`;
  switch (change.kind) {
    case "set": {
      const { path, value } = change;
      const target = isObject(value) ? declared(name, [{ path, type: "register", value }]) : name;
      const text = `UPDATE ${target} SET ${pathText(path)} = :value ${where}`;
      return { text, args: { value, id } };
    }
    case "increment": {
      const word = change.isOld === true ? "PN_INCREMENT" : "INCREMENT";
      const text = `UPDATE ${name} APPLY ${pathText(change.path)} ${word} BY :by ${where}`;
      return { text, args: { by: change.by, id } };
    }
    case "unset":
      return {
        text: `UPDATE ${name} UNSET ${pathText(change.path)} ${where}`,
        args: { id },
      };
    case "restore":
      return restoration({ name, where, id }, change.fields);
    case "insert": {
      // Counters of the older kind begin with an increment alone.
      const old = change.fields.filter(({ isOld = false }) => isOld);
      const fields = change.fields.filter(({ isOld = false }) => !isOld);
      const document = { _id: id, ...objectOf(fields) };
      const text = `INSERT INTO ${declared(name, fields)} DOCUMENTS (:document)`;
      const insert = { text, args: { document } };
      return old.length === 0 ? insert : { ...insert, next: restoration({ name, where, id }, old) };
    }
    default:
      return { text: `DELETE FROM ${name} ${where}`, args: { id } };
  }
}

/** Counters begin again with their value; all else is written. A map comes back with its entries. */
function restoration(
  { name, where, id }: { readonly name: string; readonly where: string; readonly id: unknown },
  fields: readonly TypedField[],
): EditStatement {
  const counters = fields.filter(({ type }) => type === "counter");
  const others = fields.filter((field) => {
    if (field.type === "map") return !fields.some(({ path }) => isInside(path, field.path));
    return field.type !== "counter";
  });
  const args: Record<string, unknown> = { id };
  const restarts = counters.map(({ path, value, isOld = false }) => {
    const verb = isOld ? "PN_INCREMENT BY" : "RESTART WITH";
    return `${pathText(path)} ${verb} ${numberText(value as number | bigint)}`;
  });
  const writes = others.map(({ path, value }, i) => {
    args[`v${i}`] = value;
    return `${pathText(path)} = :v${i}`;
  });
  const apply = restarts.length === 0 ? "" : ` APPLY ${restarts.join(", ")}`;
  const set = writes.length === 0 ? "" : ` SET ${writes.join(", ")}`;
  return { text: `UPDATE ${declared(name, others)}${apply}${set} ${where}`, args };
}

/**
 * The edit that takes this one back. `fields` are those of the document before it. Undefined if it
 * would have to write a value that JSON cannot hold.
 */
export function inverseOf(edit: Edit, fields: readonly TypedField[]): Edit | undefined {
  const change = inverseChange(edit.change, fields);
  const written = "fields" in change ? change.fields : [];
  if (written.some(({ isOpaque = false }) => isOpaque)) return undefined;
  return { ...edit, title: `Undid: ${edit.title}`, change };
}

function inverseChange(change: Change, fields: readonly TypedField[]): Change {
  if (change.kind === "insert") return { kind: "delete" };
  if (change.kind === "delete") return { kind: "insert", fields };
  if (change.kind === "increment") return { ...change, by: -change.by };
  // A person restores one field at a time: a counter that begins.
  const path = change.kind === "restore" ? (change.fields[0]?.path ?? []) : change.path;
  const former = fields.filter((field) => isSamePath(field.path.slice(0, path.length), path));
  return former.length === 0 ? { kind: "unset", path } : { kind: "restore", fields: former };
}

function isInside(inner: readonly string[], outer: readonly string[]): boolean {
  return inner.length > outer.length && isSamePath(inner.slice(0, outer.length), outer);
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((step, i) => step === b[i]);
}

/** The collection with the types that a plain value would not have: counters, and objects as registers. */
export function declared(name: string, fields: readonly TypedField[]): string {
  const needed = fields.filter(({ type, value }) => {
    return type === "counter" || type === "attachment" || (type === "register" && isObject(value));
  });
  const text = declarations(needed.map(({ path, type }) => ({ path, type })));
  return text === "" ? name : `COLLECTION ${name} (${text})`;
}

interface Declaration {
  readonly path: readonly string[];
  readonly type: string;
}

export function declarations(all: readonly Declaration[]): string {
  const names = [...new Set(all.map(({ path }) => path[0] ?? ""))];
  return names
    .map((name) => {
      const own = all.filter(({ path }) => path[0] === name);
      const leaf = own.find(({ path }) => path.length === 1);
      if (leaf !== undefined) return `${quoteName(name)} ${leaf.type.toUpperCase()}`;
      const inner = own.map(({ path, type }) => ({ path: path.slice(1), type }));
      return `${quoteName(name)} MAP (${declarations(inner)})`;
    })
    .join(", ");
}

/**
 * The fields of a plain object. Those that `original` has too keep its types, if their values allow
 * it: a clone has a counter where the original has one.
 */
export function fieldsLike(
  object: Readonly<Record<string, unknown>>,
  original: readonly TypedField[],
  parent: readonly string[] = [],
): readonly TypedField[] {
  return Object.entries(object).flatMap(([name, value]): readonly TypedField[] => {
    const path = [...parent, name];
    const { type, isOld } = original.find((field) => isSamePath(field.path, path)) ?? {};
    if (!isObject(value)) {
      const isCounter = type === "counter" && kindOf(value) === "number";
      if (!isCounter) return [{ path, type: "register", value }];
      return [{ path, type, value, ...(isOld === true && { isOld }) }];
    }
    if (type === "register" || type === "attachment") return [{ path, type, value }];
    return [{ path, type: "map", value: {} }, ...fieldsLike(value, original, path)];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields as a plain object. */
export function objectOf(fields: readonly TypedField[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { path, value } of fields) {
    let target = result;
    for (const step of path.slice(0, -1)) {
      if (!Object.hasOwn(target, step)) setOwn(target, step, {});
      target = target[step] as Record<string, unknown>;
    }
    const isStructure = typeof value === "object" && value !== null;
    setOwn(target, path.at(-1) ?? "", isStructure ? structuredClone(value) : value);
  }
  return result;
}
