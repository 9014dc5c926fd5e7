/**
 * Before image: the old values that a change of a document overwrote, as the change log keeps them.
 */

import {
  equalValues,
  getField,
  type MutableObject,
  setField,
  type Types,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import type { Shown } from "../crdt/show.ts";
import type { Before } from "./records.ts";

/** The fields whose old value is gone, and the names of the fields that are new. */
export function beforeImage(before: Shown | undefined, after: Shown | undefined): Before | null {
  if (before === undefined) return null;
  const isSameTypes = equalValues(before.types, after?.types);
  const types = before.types ?? {};
  if (after === undefined) return imageOf(before.fields, [], isSameTypes ? undefined : types);
  const fields: MutableObject = {};
  const { fields: olds } = before;
  for (const name in olds) {
    const old = olds[name] as Value;
    if (!equalValues(old, getField(after.fields, name))) setField(fields, name, old);
  }
  const added: string[] = [];
  for (const name in after.fields) if (!Object.hasOwn(olds, name)) added.push(name);
  return imageOf(fields, added, isSameTypes ? undefined : types);
}

function imageOf(fields: ValueObject, added: string[], types: Types | undefined): Before {
  return types === undefined ? { fields, added } : { fields, added, types };
}
