/**
 * Argument checks: validates what an app passes in, where the compiler did not.
 */

import { PeerError } from "@bigpeer/protocol";

/** Characters of a found text that an error message repeats. */
const DESCRIBED_SIZE_MAX = 100;

/** Throws unless it is a text. Whether it is a statement is for the parser to check. */
export function checkStatement(statement: unknown): string {
  if (typeof statement === "string") return statement;
  const message = `expected the text of a statement, found ${kindOf(statement)}`;
  throw new PeerError("query.syntax", message);
}

/** Matches the name of a collection alone, where a query was meant. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

const VERB = /^(select|insert|update|delete|evict|explain|show)$/i;

/** Throws also for the name of a collection alone. Whether it is a SELECT is for the parser. */
export function checkQuery(query: unknown): string {
  const text = checkStatement(query);
  const name = text.trim();
  if (!NAME.test(name) || VERB.test(name)) return text;
  const hint = `did you mean SELECT * FROM ${name}?`;
  throw new PeerError("query.syntax", `expected a SELECT, found ${describe(name)}`, { hint });
}

/** Corrects the error for a missing parameter if the parameter was given, but as undefined. */
export function explainUndefined(error: unknown, args: unknown): unknown {
  if (!(error instanceof PeerError) || typeof args !== "object" || args === null) return error;
  const name = /^parameter (\S+) was not provided$/.exec(error.reason)?.[1];
  if (name === undefined || !Object.hasOwn(args, name)) return error;
  const { code, place, hint } = error;
  const message = `expected a value for parameter ${name}, found undefined`;
  return new PeerError(code, message, { place, hint });
}

/** The kind of a found value, for error messages. */
export function kindOf(found: unknown): string {
  if (found === null) return "null";
  return Array.isArray(found) ? "an array" : typeof found;
}

/** The same, with the value if it is a text. Not for what may be a secret. */
export function describe(found: unknown): string {
  if (typeof found !== "string") return kindOf(found);
  return found.length <= DESCRIBED_SIZE_MAX
    ? `"${found}"`
    : `"${found.slice(0, DESCRIBED_SIZE_MAX)}…"`;
}
