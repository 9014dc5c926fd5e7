/**
 * Before image: the old values that a change of a document overwrote, as the change log keeps them.
 */

import {
  equalValues,
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
  const { fields: news } = after;
  let kept = 0;
  for (const name in olds) {
    const old = olds[name] as Value;
    const isKept = Object.hasOwn(news, name);
    if (isKept) kept++;
    if (!isKept || !equalValues(old, news[name])) setField(fields, name, old);
  }
  return imageOf(fields, addedNames(olds, news, kept), isSameTypes ? undefined : types);
}

/** The names that are new; `kept` counts the others. */
function addedNames(olds: ValueObject, news: ValueObject, kept: number): string[] {
  let count = 0;
  for (const _ in news) count++;
  const added: string[] = [];
  if (count === kept) return added;
  for (const name in news) if (!Object.hasOwn(olds, name)) added.push(name);
  return added;
}

function imageOf(fields: ValueObject, added: string[], types: Types | undefined): Before {
  return types === undefined ? { fields, added } : { fields, added, types };
}
