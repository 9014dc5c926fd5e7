/**
 * writeMark: decides the type that a value is written as, by its shape and its declaration.
 *
 * An object is a map, in strict mode a register. Arrays and scalars are registers. In statements an
 * attachment token is recognised by its shape. A declaration takes precedence, and refuses a value
 * that cannot have its type. Marks are added only where the shape alone would give another type.
 */

import { setField, type TypeMark, type Types, unreachable } from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";
import { evaluationFault, type Fault, semanticFault } from "../fault.ts";
import type { Typing } from "../run/execution.ts";
import { printPath } from "../syntax/print-path.ts";
import { type DatumObject, isDatumObject, isInteger, type PresentDatum } from "../value/datum.ts";
import { describeType } from "../value/mismatch.ts";

/** A statement or command that writes: INSERT may start a counter, SET may not. */
export interface Writer {
  readonly typing: Typing;
  readonly clause: "insert" | "set";
  /** False for commands, which mark tokens explicitly; default true. */
  readonly isTokenInferred?: boolean;
  /** Start of its text. */
  readonly at: number;
}

/** The mark of a value at a path; undefined if its shape is enough. */
export function writeMark(
  value: PresentDatum,
  declared: TypeMark | undefined,
  path: readonly string[],
  writer: Writer,
): TypeMark | undefined {
  switch (declared) {
    case undefined:
      return undeclaredMark(value, path, writer);
    case "register":
      return isDatumObject(value) ? "register" : undefined;
    case "counter":
    case "pn_counter":
      checkCounter(value, declared, path, writer);
      return declared;
    case "attachment":
      if (!isToken(value))
        throw refuse("an attachment token {id, len, metadata}", value, path, writer);
      return declared;
    case "map":
      return mapMark(value, {}, path, writer);
    default:
      return mapMark(value, declared, path, writer);
  }
}

/** Marks of the fields of a map or document; undefined when there are none. */
export function writeMarks(
  fields: DatumObject,
  declared: Types,
  path: readonly string[],
  writer: Writer,
): Types | undefined {
  let marks: { [field: string]: TypeMark } | undefined;
  for (const name in fields) {
    const value = fields[name] as PresentDatum;
    const type = markOf(declared, name);
    if (type === undefined && !isDatumObject(value)) continue;
    const mark = writeMark(value, type, [...path, name], writer);
    if (mark === undefined) continue;
    marks ??= {};
    setField(marks, name, mark);
  }
  return marks;
}

function undeclaredMark(
  value: PresentDatum,
  path: readonly string[],
  writer: Writer,
): TypeMark | undefined {
  if (!isDatumObject(value)) return undefined;
  if (writer.typing.isStrict) return "register";
  const { isTokenInferred = true } = writer;
  return isTokenInferred && isToken(value) && Object.hasOwn(value, "metadata")
    ? "attachment"
    : writeMarks(value, {}, path, writer);
}

function mapMark(
  value: PresentDatum,
  declared: Types,
  path: readonly string[],
  writer: Writer,
): TypeMark | undefined {
  if (!isDatumObject(value)) throw refuse("an object", value, path, writer);
  return writeMarks(value, declared, path, writer);
}

function checkCounter(
  value: PresentDatum,
  type: "counter" | "pn_counter",
  path: readonly string[],
  writer: Writer,
): void {
  const { clause } = writer;
  switch (clause) {
    case "insert":
      if (type === "pn_counter") {
        const hint = "a PN_COUNTER begins with APPLY … PN_INCREMENT";
        throw fault(`${printPath(path)} cannot be inserted: ${hint}`, writer);
      }
      if (!isInteger(value)) throw refuse("an integer", value, path, writer);
      return;
    case "set":
      throw fault(`${printPath(path)} is a counter and cannot be SET: use APPLY`, writer);
    default:
      unreachable(clause);
  }
}

/** A token as an attachment upload returns it, with or without metadata, and nothing else. */
export function isToken(value: PresentDatum): boolean {
  if (!isDatumObject(value)) return false;
  const { id, len, metadata } = value;
  if (typeof id !== "string" || id === "" || !isInteger(len) || len < 0) return false;
  if (metadata === undefined) return Object.keys(value).length === 2;
  if (!isDatumObject(metadata) || Object.keys(value).length !== 3) return false;
  return Object.values(metadata).every((text) => typeof text === "string");
}

function refuse(
  expected: string,
  found: PresentDatum,
  path: readonly string[],
  writer: Writer,
): Fault {
  const type = typeName(declaredAt(path, writer.typing.types));
  const what = `${printPath(path)} is declared as ${type}`;
  return fault(`${what}: expected ${expected}, found ${describeType(found)}`, writer);
}

function fault(message: string, writer: Writer): Fault {
  return writer.clause === "insert"
    ? semanticFault(message, writer.at)
    : evaluationFault(message, writer.at);
}

/** The declared type at a path; undefined if there is none. */
function declaredAt(path: readonly string[], types: Types | undefined): TypeMark | undefined {
  let mark: TypeMark | undefined = types;
  for (const name of path) mark = typeof mark === "object" ? markOf(mark, name) : undefined;
  return mark;
}

/**
 * The declared type of the target of an edit. Throws unless everything above it can be written as a
 * map: it is declared as one, or not declared while strict mode is off.
 */
export function targetType(
  path: readonly string[],
  typing: Typing,
  at: number,
): TypeMark | undefined {
  let types = typing.types;
  for (let depth = 1; depth < path.length; depth++) {
    const above = path.slice(0, depth);
    const mark = markOf(types, path[depth - 1] as string);
    if (mark === undefined && typing.isStrict) {
      const hint = `declare it: COLLECTION … (${above[0]} MAP …)`;
      const message = `${printPath(above)} is a REGISTER in strict mode and has no fields to write; ${hint}`;
      throw evaluationFault(message, at);
    }
    if (typeof mark === "string" && mark !== "map") {
      const message = `${printPath(above)} is declared as ${typeName(mark)} and has no fields to write`;
      throw evaluationFault(message, at);
    }
    types = typeof mark === "object" ? mark : undefined;
  }
  return markOf(types, path.at(-1) as string);
}

export function typeName(mark: TypeMark | undefined): string {
  return typeof mark === "string" ? mark.toUpperCase() : "MAP";
}
