/**
 * Checks of what an app gives: what the types do not keep from a program without types.
 */

import { PeerError } from "@bigpeer/protocol";

/** How much of a text is repeated. */
const TOLD_SIZE_MAX = 100;

/** Throws unless it is a text; whether it is a statement is seen by those who read it. */
export function checkStatement(statement: unknown): string {
  if (typeof statement === "string") return statement;
  const message = `expected the text of a statement, found ${kindOf(statement)}`;
  throw new PeerError("query.syntax", message);
}

/** What was found, by its kind. */
export function kindOf(found: unknown): string {
  if (found === null) return "null";
  return Array.isArray(found) ? "an array" : typeof found;
}

/** The same, with its text where it is one. Not for what may be a secret. */
export function toldOf(found: unknown): string {
  if (typeof found !== "string") return kindOf(found);
  return found.length <= TOLD_SIZE_MAX ? `"${found}"` : `"${found.slice(0, TOLD_SIZE_MAX)}…"`;
}
