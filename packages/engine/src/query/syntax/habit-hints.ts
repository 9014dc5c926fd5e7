/**
 * Habit hints: suggest the right syntax for constructs of SQL and other query languages.
 *
 * Only errors look them up, so they never affect a valid text: each of these words may be a name.
 */

import { cutName } from "../unknown-name.ts";
import { TYPE_WORDS } from "./keywords.ts";
import type { Token } from "./lexer.ts";
import { printPath } from "./print-path.ts";

/** Hint for a filter that is a whole statement. */
export const FILTER_HINT = "a filter is only the condition, such as color == 'blue'";

/** Hint for an INSERT with columns and values. */
export const COLUMNS_HINT =
  "a document is one object: INSERT INTO collection DOCUMENTS ({'name': 'Ada', 'age': 36}), or (:document)";

const UPSERT = "write INSERT INTO collection DOCUMENTS (:document) ON ID CONFLICT DO UPDATE";
const DELETE = "write DELETE FROM collection";
const ATOMIC =
  "each statement is atomic by itself; several changes are atomic in one request of /store/write, or in store.transaction of the SDK";

/** Words that begin a statement in other languages. */
const STARTS: ReadonlyMap<string, string> = new Map([
  ["UPSERT", UPSERT],
  ["REPLACE", UPSERT],
  ["REMOVE", DELETE],
  ["TRUNCATE", DELETE],
  ["BEGIN", ATOMIC],
  ["START", ATOMIC],
  ["COMMIT", ATOMIC],
  ["ROLLBACK", ATOMIC],
]);

const FIRST_DOCUMENT = "a collection exists from its first document on";
const CREATE = `${FIRST_DOCUMENT}: INSERT INTO collection DOCUMENTS (:document)`;
const DROP = `${FIRST_DOCUMENT}; DELETE FROM collection removes its documents`;
const ALTER = "a collection has no columns: any document may have any field";
const CONFLICT = "write ON ID CONFLICT, then DO UPDATE, DO MERGE, DO NOTHING or FAIL";

/** Pairs of words; the error is at the second one. */
const PAIRS: ReadonlyMap<string, string> = new Map([
  ["CREATE TABLE", CREATE],
  ["CREATE COLLECTION", CREATE],
  ["DROP TABLE", DROP],
  ["DROP COLLECTION", DROP],
  ["ALTER TABLE", ALTER],
  ["ALTER COLLECTION", ALTER],
  ["ON CONFLICT", CONFLICT],
  ["ON DUPLICATE", CONFLICT],
]);

/** Hint at an unexpected token; undefined if no habit is known there. */
export function habitHint(
  { type, word }: Token,
  previous: Token | undefined,
  wanted: readonly string[],
): string | undefined {
  if (type === "&&") return wanted.includes("an operator") ? "write AND" : undefined;
  if (type === "!") return wanted.includes("an expression") ? "write NOT" : undefined;
  if (previous === undefined || previous.type === ";") return STARTS.get(word);
  return PAIRS.get(`${previous.word} ${word}`);
}

/**
 * Hint for types declared without COLLECTION, from the tokens at the parenthesis on:
 * `COLLECTION tasks (n COUNTER)`.
 */
export function typesHint(collection: string, ahead: readonly Token[]): string | undefined {
  const [, field, type, next] = ahead;
  if (field === undefined || type === undefined || !TYPE_WORDS.has(type.word)) return undefined;
  if (field.type !== "word" && field.type !== "quoted") return undefined;
  const rest = next?.type === ")" ? "" : ", …";
  return `COLLECTION ${nameOf([collection])} (${nameOf([field.text])} ${type.word}${rest})`;
}

/** Hint for SET with an operation of a counter, or with `+=`. */
export function setHint(path: readonly string[], { type, word }: Token): string | undefined {
  const name = nameOf(path);
  const apply = `APPLY ${name} INCREMENT BY 1`;
  if (type === "+") return `write SET ${name} = ${name} + 1, or ${apply} for a counter`;
  if (word === "RESTART") return `write APPLY ${name} RESTART`;
  if (word === "INCREMENT") return `write ${apply}`;
  return word === "PN_INCREMENT" ? `write APPLY ${name} PN_INCREMENT BY 1` : undefined;
}

/** Hint for `LIMIT start, count`. */
export function limitHint(start: unknown, { type, number }: Token): string {
  const isKnown = typeof start === "number" && type === "number" && typeof number === "number";
  return isKnown ? `write LIMIT ${number} OFFSET ${start}` : "write LIMIT count OFFSET start";
}

/** Text of a path. A long path would fill the whole message, so it becomes `field`. */
function nameOf(path: readonly string[]): string {
  return path.length > 4 ? "field" : printPath(path.map(cutName));
}
