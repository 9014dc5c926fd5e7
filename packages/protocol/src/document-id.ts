/**
 * Document ids: validation and canonical form; an id is any value but null and float.
 *
 * Key order of object ids does not matter: the canonical form sorts the keys. Null may stand inside
 * an array or object id, a float nowhere. `1` and `'1'` are different ids.
 */

import { PeerError } from "./error.ts";
import {
  isPlainText,
  orderedKey,
  plainTextKey,
  textOfPlainKey,
  valueOfOrderedKey,
} from "./ordered-key.ts";
import { checkValue, isArray, isObject, type Value } from "./value.ts";

/** Longest id in bytes of its ordered key: with its prefix it must fit a storage key. */
export const ID_SIZE_MAX = 1024;

/** An id in its canonical form: `id` to show, `key` to compare, sort and store. */
export interface DocumentId {
  readonly id: Value;
  readonly key: string;
}

/** Cache of the last plain text: one write asks for the same id several times. */
let last: DocumentId = { id: "", key: plainTextKey("") };

export function documentId(input: unknown): DocumentId {
  if (input === last.id) return last;
  if (typeof input === "string" && isShortPlain(input)) {
    last = { id: input, key: plainTextKey(input) };
    return last;
  }
  if (hasManyParts(input)) throw tooLong(`more than ${ID_SIZE_MAX} parts`);
  const id = checkValue(input, "_id");
  if (id === null) throw new PeerError("id.invalid", "expected an id, found null", { at: "_id" });
  refuseFloats(id, "_id");
  const key = orderedKey(id);
  if (key.length > ID_SIZE_MAX) throw tooLong(`${key.length}`);
  // Scalars are their own canonical form (except -0); containers are read back with sorted keys.
  return { id: typeof id === "object" || Object.is(id, -0) ? idOfKey(key) : id, key };
}

function tooLong(found: string): PeerError {
  const message = `expected an id of at most ${ID_SIZE_MAX} bytes, found ${found}`;
  return new PeerError("id.invalid", message, { at: "_id" });
}

/** Whether an input has too many parts for an id: each takes at least a byte. */
function hasManyParts(input: unknown): boolean {
  if (typeof input !== "object" || input === null || input instanceof Uint8Array) return false;
  const open: object[] = [input];
  let count = 0;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const name in part) {
      if (++count > ID_SIZE_MAX) return true;
      const inner: unknown = (part as { readonly [name: string]: unknown })[name];
      if (typeof inner === "object" && inner !== null && !(inner instanceof Uint8Array)) {
        open.push(inner);
      }
    }
  }
  return false;
}

/** The id of an ordered key, or of one that begins at `offset`. */
export function idOfKey(key: string, offset = 0): Value {
  return textOfPlainKey(key, offset) ?? valueOfOrderedKey(key.slice(offset)) ?? null;
}

/** Most ids: plain text that needs no check and no escape. */
function isShortPlain(input: string): boolean {
  return input.length < ID_SIZE_MAX / 2 && isPlainText(input);
}

function refuseFloats(id: Value, at: string): void {
  if (typeof id === "number" && !Number.isSafeInteger(id)) {
    throw new PeerError("id.invalid", `expected an integer, found the float ${id}`, { at });
  }
  if (isArray(id)) for (const [i, part] of id.entries()) refuseFloats(part, `${at}[${i}]`);
  else if (isObject(id)) {
    for (const [name, part] of Object.entries(id)) refuseFloats(part, `${at}.${name}`);
  }
}
