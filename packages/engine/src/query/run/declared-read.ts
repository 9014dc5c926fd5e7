/**
 * readDocument: shows a document with the field types that a statement declares.
 *
 * A declared field shows only its variant of that type, even if a newer one of another type hides
 * it. In strict mode an undeclared field is a register, on every level. A document that already
 * agrees is returned as the same object; only a differing variant requires a read of the document
 * state.
 */

import {
  getField,
  isObject,
  setField,
  type TypeMark,
  type Types,
  type Value,
} from "@bigpeer/protocol";
import { markOf, show } from "../../crdt/show.ts";
import type { Kids } from "../../crdt/state.ts";
import type { StoredDocument } from "../../store/view.ts";
import type { DocumentView } from "../frame/document-view.ts";
import type { Typing } from "./execution.ts";

/** The collection that a document is in. */
export interface DocumentPlace {
  readonly view: DocumentView;
  readonly collection: string;
}

/** A stored document with the declared types. */
export function getDocument(
  id: Value,
  typing: Typing,
  place: DocumentPlace,
): StoredDocument | undefined {
  const document = place.view.get(place.collection, id);
  return document && readDocument(document, typing, place);
}

export function readDocument(
  document: StoredDocument,
  typing: Typing,
  place: DocumentPlace,
): StoredDocument {
  if (!typing.isStrict && typing.types === undefined) return document;
  const declared = typing.types ?? {};
  if (agrees(document, declared, typing.isStrict)) return document;
  const { state } = place.view.state(place.collection, document.id);
  const shown = show(state, typing.isStrict ? completed(state.root, declared) : declared);
  // A document outside the store (a row of a system collection) has no variants.
  return shown === undefined ? document : { id: document.id, ...shown };
}

type Marked = Pick<StoredDocument, "fields" | "types">;

/** Whether all fields already show the type that they are read as. */
function agrees({ fields, types }: Marked, declared: Types, isStrict: boolean): boolean {
  for (const name of Object.keys(isStrict ? fields : declared)) {
    const value = getField(fields, name);
    const wanted = markOf(declared, name) ?? "register";
    if (value === undefined) continue;
    const mark = markOf(types, name);
    if (shownType(value, mark) !== (typeof wanted === "string" ? wanted : "map")) return false;
    if (wanted === "map" && !isStrict) continue;
    if (!isObject(value) || typeof mark === "string") continue;
    const inner = typeof wanted === "string" ? {} : wanted;
    if (!agrees({ fields: value, types: mark }, inner, isStrict)) return false;
  }
  return true;
}

function shownType(value: Value, mark: TypeMark | undefined): string {
  if (typeof mark === "string") return mark;
  return isObject(value) ? "map" : "register";
}

const NO_KIDS: Kids = new Map();

/** The declaration with every field: in strict mode the undeclared ones are registers. */
function completed(kids: Kids, declared: Types): Types {
  const types: { [field: string]: TypeMark } = {};
  for (const [name, kid] of kids) {
    const mark = markOf(declared, name) ?? "register";
    const isMap = typeof mark !== "string" || mark === "map";
    const below = typeof mark === "string" ? {} : mark;
    setField(types, name, isMap ? completed(kid.map?.kids ?? NO_KIDS, below) : mark);
  }
  return types;
}
