/**
 * Declared read: what a statement sees of a document.
 *
 * A declared field shows only its own variant, be it hidden behind a newer one. In strict mode what
 * is not declared is a register, on every level. A document that already shows what was asked for
 * comes back as the same object; only where a variant differs the replicated state is read.
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

/** Where documents are kept. */
export interface DocumentPlace {
  readonly view: DocumentView;
  readonly collection: string;
}

/** A document of the store, as a statement sees it. */
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
  // What is not in the store (a row of a system collection) has no variants to choose from.
  return shown === undefined ? document : { id: document.id, ...shown };
}

type Marked = Pick<StoredDocument, "fields" | "types">;

/** Whether all fields show as the type that they are read as. */
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

/** The declaration with every field in it: strict mode takes the others for registers. */
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
