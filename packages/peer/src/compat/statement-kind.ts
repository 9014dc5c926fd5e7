/**
 * Statement kind: which statement a text is, by its first word, without reading the rest. A page
 * parses no statements itself.
 */

import { DittoError } from "./ditto-error.ts";

/** Spaces, comments and opening brackets before the first word. */
const BEFORE = /^(?:\s|\(|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)*/;

const WRITES = new Set(["INSERT", "UPDATE", "DELETE", "EVICT", "CREATE", "DROP", "ALTER"]);

const VERBS = new Set([
  ...WRITES,
  "SELECT",
  "EXPLAIN",
  "PROFILE",
  "ADVISE",
  "SHOW",
  "SYNC",
  "BACKFILL",
]);

/** The first word of a statement, in capitals. */
function verbOf(text: string): string {
  const rest = text.replace(BEFORE, "");
  return /^[A-Za-z_]*/.exec(rest)?.[0].toUpperCase() ?? "";
}

/** Whether a statement changes something, also if it is profiled. */
export function isWrite(statement: string): boolean {
  const verb = verbOf(statement);
  if (verb !== "PROFILE") return WRITES.has(verb);
  return isWrite(statement.replace(BEFORE, "").slice(verb.length));
}

/** Throws `query/unsupported` for another statement than a SELECT. `what` takes the query. */
export function checkSelect(query: string, what: string): void {
  if (typeof query !== "string") {
    throw new TypeError(`expected the text of a query, found ${typeof query}`);
  }
  const verb = verbOf(query);
  if (verb === "SELECT" || !VERBS.has(verb)) return;
  throw new DittoError("query/unsupported", `expected a SELECT for ${what}, found ${verb}`);
}

/** Whether a query reads a system collection, which the peer does not observe. */
export function isOfSystem(query: string): boolean {
  return /\bFROM\s+(?:COLLECTION\s+)?`?system\s*`?\s*:/i.test(query);
}
