/**
 * Argument checks: validates what an app passes in, where the compiler did not.
 */

import { type ErrorCode, PeerError } from "@bigpeer/protocol";

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

const OBSERVER_HINT = "call registerObserver(query, args, callback)";

/** The optional arguments of an observed query, and its callback. */
export function observerArguments<
  Args extends object,
  Callback extends (...args: never[]) => unknown,
>(
  second: Args | Callback | undefined,
  third: Callback | undefined,
): { readonly args: Args | undefined; readonly callback: Callback } {
  if (typeof second !== "function") {
    checkFunction(third, "a callback", "query.arguments", OBSERVER_HINT);
    return { args: second, callback: third as Callback };
  }
  if (third === undefined) return { args: undefined, callback: second };
  const message = `expected the callback as the last argument, found ${kindOf(third)} after it`;
  throw new PeerError("query.arguments", message, { hint: OBSERVER_HINT });
}

/** Throws unless it is a function. */
export function checkScope(scope: unknown): void {
  checkFunction(scope, "a function with the statements of the transaction", "query.arguments");
}

/** Throws unless it is a function, or absent. */
export function checkCleanup(cleanup: unknown): void {
  if (cleanup !== undefined) checkFunction(cleanup, "a function as the cleanup of a logout");
}

/** Throws unless the name is one of `names` and the listener is a function. */
export function checkListener(name: string, listener: unknown, names: readonly string[]): void {
  if (!names.includes(name)) {
    const listed = `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
    const message = `expected ${listed} as the event, found ${describe(name)}`;
    throw new PeerError("config.invalid", message);
  }
  checkFunction(listener, "a function as the listener");
}

/** Throws unless it is a function; `what` is what was expected. */
export function checkFunction(
  found: unknown,
  what: string,
  code: ErrorCode = "config.invalid",
  hint?: string,
): void {
  if (typeof found !== "function") {
    throw new PeerError(code, `expected ${what}, found ${kindOf(found)}`, { hint });
  }
}

/** Whether to erase a peer although writes wait. */
export function checkErase(options: unknown): boolean {
  const { force, ...others } = (options ?? {}) as Readonly<Record<string, unknown>>;
  const [other] = Object.keys(others);
  if (typeof options !== "object" || options === null || other !== undefined) {
    const found = other === undefined ? kindOf(options) : describe(other);
    throw new PeerError("config.invalid", `expected { force } to erase a peer, found ${found}`);
  }
  if (force === undefined || typeof force === "boolean") return force === true;
  throw new PeerError("config.invalid", `expected true or false as force, found ${kindOf(force)}`);
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
