/**
 * Attachments of a state: finds the attachment ids that the tokens in a CRDT state refer to.
 *
 * Every variant counts, shown or hidden: a declared type can show any of them, and an insert can
 * bring back the part of a later write that a delete left. So content is needed as long as any
 * stored state holds a token of it.
 */

import { ATTACHMENT_ID_SIZE_MAX, getField, isObject, type Value } from "@bigpeer/protocol";
import { type DocumentState, EMPTY_STATE, type Kids, type Node } from "./state.ts";

/** The ids that the tokens of a state refer to, each once. */
export function attachmentIds(state: DocumentState): ReadonlySet<string> {
  const ids = new Set<string>();
  addIds(state.root, ids);
  return ids;
}

function addIds(kids: Kids, ids: Set<string>): void {
  for (const kid of kids.values()) {
    const id = kid.att === undefined ? undefined : idOfToken(kid.att.value);
    if (id !== undefined) ids.add(id);
    if (kid.map !== undefined) addIds(kid.map.kids, ids);
  }
}

/** A token comes from outside and may be any value. An id that would not fit a key is not ours. */
function idOfToken(token: Value): string | undefined {
  const id = isObject(token) ? getField(token, "id") : undefined;
  if (typeof id !== "string" || id === "" || id.length > ATTACHMENT_ID_SIZE_MAX) return undefined;
  return id;
}

/**
 * Whether the tokens of two states may differ. Every write asks, so it looks only at what the
 * second state does not share with the first, and allocates nothing.
 */
export function mayDifferInAttachments(before: DocumentState, after: DocumentState): boolean {
  return mayDiffer(before.root, after.root);
}

function mayDiffer(before: Kids, after: Kids): boolean {
  if (before === after) return false;
  // Most documents have no token at all.
  if (!hasToken(before)) return hasToken(after);
  let kept = 0;
  for (const [name, kid] of after) {
    const known = before.get(name);
    if (known !== undefined) kept++;
    if (kid === known) continue;
    if (kid.att !== known?.att || mayDiffer(kidsBelow(known), kidsBelow(kid))) return true;
  }
  return kept < before.size && hasLostToken(before, after);
}

function kidsBelow(node: Node | undefined): Kids {
  return node?.map === undefined ? EMPTY_STATE.root : node.map.kids;
}

function hasLostToken(before: Kids, after: Kids): boolean {
  for (const [name, kid] of before) {
    if (after.has(name)) continue;
    if (kid.att !== undefined || hasToken(kidsBelow(kid))) return true;
  }
  return false;
}

function hasToken(kids: Kids): boolean {
  for (const kid of kids.values()) {
    if (kid.att !== undefined) return true;
    if (kid.map !== undefined && hasToken(kid.map.kids)) return true;
  }
  return false;
}
