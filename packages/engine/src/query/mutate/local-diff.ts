/**
 * localDiff: computes edits for only those fields of a given document that differ from the existing
 * one.
 *
 * It compares values as the statement sees them: a field with an equal value is not written, even
 * if its type differs. If both sides are maps, only the differing fields below are written.
 */

import {
  equalValues,
  getField,
  isObject,
  type SetEdit,
  type TypeMark,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { markOf } from "../../crdt/show.ts";

export interface MarkedFields {
  readonly fields: ValueObject;
  readonly types: Types | undefined;
}

export function localDiff(given: MarkedFields, here: MarkedFields): SetEdit[] {
  const edits: SetEdit[] = [];
  collect(given, here, [], edits);
  return edits;
}

function collect(
  given: MarkedFields,
  here: MarkedFields,
  path: readonly string[],
  edits: SetEdit[],
): void {
  for (const name of Object.keys(given.fields)) {
    const value = given.fields[name] as Value;
    const mark = markOf(given.types, name);
    const known = getField(here.fields, name);
    const knownMark = markOf(here.types, name);
    const inner = [...path, name];
    if (isMap(value, mark) && isMap(known, knownMark)) {
      collect(
        { fields: value, types: below(mark) },
        { fields: known, types: below(knownMark) },
        inner,
        edits,
      );
    } else if (!equalValues(value, known)) {
      edits.push(setEdit(inner, value, mark));
    }
  }
}

export function setEdit(
  path: readonly string[],
  value: Value,
  mark: TypeMark | undefined,
): SetEdit {
  return mark === undefined
    ? { kind: "set", path, value }
    : { kind: "set", path, value, types: mark };
}

/** Whether a written or visible value with its mark is a map. */
export function isMap(value: Value | undefined, mark: TypeMark | undefined): value is ValueObject {
  return isObject(value) && (mark === undefined || mark === "map" || typeof mark === "object");
}

function below(mark: TypeMark | undefined): Types | undefined {
  return typeof mark === "object" ? mark : undefined;
}
