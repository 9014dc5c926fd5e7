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

/** The name of a collection alone, where a query was meant. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

const VERB = /^(select|insert|update|delete|evict|explain|show)$/i;

/** Throws also for the name of a collection; whether it is a SELECT is seen by those who read it. */
export function checkQuery(query: unknown): string {
  const text = checkStatement(query);
  const name = text.trim();
  if (!NAME.test(name) || VERB.test(name)) return text;
  const hint = `did you mean SELECT * FROM ${name}?`;
  throw new PeerError("query.syntax", `expected a SELECT, found ${toldOf(name)}`, { hint });
}

/** The error for the app: a parameter that was given, but is undefined, was not forgotten. */
export function explainUndefined(error: unknown, args: unknown): unknown {
  if (!(error instanceof PeerError) || typeof args !== "object" || args === null) return error;
  const name = /^parameter (\S+) was not provided$/.exec(error.reason)?.[1];
  if (name === undefined || !Object.hasOwn(args, name)) return error;
  const { code, place, hint } = error;
  const message = `expected a value for parameter ${name}, found undefined`;
  return new PeerError(code, message, { place, hint });
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
