/**
 * Texts around a statement: EXPLAIN and its kin before it, a limit behind it, and its arguments.
 */

import { parseExact, stringifyExact } from "@bigpeer/client/exact-json";
import { completionPlace } from "@bigpeer/engine/language";

export type StatementPrefix = "EXPLAIN" | "PROFILE" | "ADVISE";

const PREFIX = /^\s*(?:EXPLAIN|PROFILE|ADVISE(?:\s+AND\s+PROVISION)?)\s+(?!SYNC\b)/i;

/** The statement itself, without a prefix. */
export function withoutPrefix(text: string): string {
  return text.replace(PREFIX, "");
}

export function withPrefix(text: string, prefix: StatementPrefix): string {
  return `${prefix} ${withoutPrefix(text)}`;
}

/** On a line of its own: the text may end with a comment. */
export function withLimit(text: string, limit: number): string {
  return `${text}\nLIMIT ${limit}`;
}

export interface ReadArguments {
  readonly args: Readonly<Record<string, unknown>>;
  /** Why the text is not a JSON object. */
  readonly fault: string | undefined;
}

/** An empty text is no argument. */
export function readArguments(text: string): ReadArguments {
  if (text.trim() === "") return { args: {}, fault: undefined };
  try {
    const args: unknown = parseExact(text);
    if (typeof args === "object" && args !== null && !Array.isArray(args)) {
      return { args: args as Readonly<Record<string, unknown>>, fault: undefined };
    }
    return { args: {}, fault: 'expected a JSON object, such as {"id": "a"}' };
  } catch (error) {
    return { args: {}, fault: error instanceof Error ? error.message : String(error) };
  }
}

/** The arguments with a null for each missing parameter, to be filled in. */
export function addMissing(text: string, parameters: readonly string[]): string {
  const { args, fault } = readArguments(text);
  if (fault !== undefined) return text;
  const missing = parameters.filter((name) => !Object.hasOwn(args, name));
  const all = { ...args, ...Object.fromEntries(missing.map((name) => [name, null])) };
  return stringifyExact(all, 2);
}

/** The one collection of this app that a statement names; undefined for none and for several. */
export function collectionOf(text: string): string | undefined {
  const { collections } = completionPlace(text, text);
  const [only] = collections;
  const isSystem = /\bsystem\s*:/i.test(text);
  return collections.length === 1 && !isSystem ? only?.name : undefined;
}
