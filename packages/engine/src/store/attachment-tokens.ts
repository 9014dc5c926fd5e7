/**
 * Attachment tokens in operations: finds the attachments that a write refers to.
 */

import {
  type DocumentOperation,
  getField,
  isObject,
  type TypeMark,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { markOf } from "../crdt/show.ts";
import type { StoredDocument } from "./view.ts";

/** Adds the attachments that an operation refers to. */
export function addTokens(operation: DocumentOperation, ids: Set<string>): void {
  if (operation.kind === "insert" || operation.kind === "initial") {
    addMarked(operation.fields, operation.types, ids);
  }
  if (operation.kind !== "update") return;
  for (const edit of operation.edits) {
    if (edit.kind === "set") addMarked(edit.value, edit.types, ids);
  }
}

/** An attachment, as a token names it. */
export interface TokenContent {
  readonly id: string;
  readonly len: number;
}

/** The attachments that the shown fields of a document refer to. */
export function documentTokens({
  fields,
  types,
}: Pick<StoredDocument, "fields" | "types">): readonly TokenContent[] {
  const found: TokenContent[] = [];
  if (types !== undefined) {
    visitMarked(fields, types, (token) => {
      const [id, len] = [getField(token, "id"), getField(token, "len")];
      if (typeof id === "string" && typeof len === "number") found.push({ id, len });
    });
  }
  return found;
}

function addMarked(value: Value | undefined, mark: TypeMark | undefined, ids: Set<string>): void {
  visitMarked(value, mark, (token) => {
    const id = getField(token, "id");
    if (typeof id === "string") ids.add(id);
  });
}

/** Tokens are always marked: an unmarked object is a map. */
function visitMarked(
  value: Value | undefined,
  mark: TypeMark | undefined,
  visit: (token: ValueObject) => void,
): void {
  if (mark === undefined || !isObject(value)) return;
  if (mark === "attachment") visit(value);
  if (typeof mark === "string") return;
  for (const name of Object.keys(mark)) {
    visitMarked(getField(value, name), markOf(mark, name), visit);
  }
}
