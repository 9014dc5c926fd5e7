/**
 * Texts around a statement: EXPLAIN and its kin before it, a limit behind it, its arguments, and the
 * place that a failure names.
 */

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
    const args: unknown = JSON.parse(text);
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
  return JSON.stringify(all, null, 2);
}

/** The index of the place that a message of the server names, such as `at line 1, column 7`. */
export function placeIn(message: string, text: string): number | undefined {
  const [, line, column] = / at line (\d+), column (\d+)/.exec(message) ?? [];
  if (line === undefined || column === undefined) return undefined;
  const lines = text.split("\n");
  const before = lines.slice(0, Number(line) - 1).reduce((sum, each) => sum + each.length + 1, 0);
  // Columns count characters, which may have two units.
  const start = Array.from(lines[Number(line) - 1] ?? "")
    .slice(0, Number(column) - 1)
    .join("");
  return Math.min(before + start.length, text.length);
}

/** The one collection of this app that a statement names; undefined for none and for several. */
export function collectionOf(text: string): string | undefined {
  const { collections } = completionPlace(text, text);
  const [only] = collections;
  const isSystem = /\bsystem\s*:/i.test(text);
  return collections.length === 1 && !isSystem ? only?.name : undefined;
}
