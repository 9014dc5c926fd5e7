/**
 * Splits a text into statements, each of which ends with `;`. A semicolon in a text, a quoted name or
 * a comment ends nothing.
 */

import { tokensOf } from "./token.ts";

export interface StatementText {
  readonly text: string;
  /** Index of its first character, and of the one behind the last. */
  readonly at: number;
  readonly end: number;
  /** Line of its beginning, from 1. */
  readonly line: number;
}

export interface Split {
  readonly statements: readonly StatementText[];
  /** Text behind the last semicolon; blank if there is none. */
  readonly rest: string;
}

/** The last statement needs no semicolon. */
export function splitStatements(text: string): StatementText[] {
  const { statements, rest } = split(text);
  if (!hasContent(rest)) return [...statements];
  return [...statements, placed(text, text.length - rest.length, rest)];
}

export function split(text: string): Split {
  const statements: StatementText[] = [];
  let start = 0;
  for (const { kind, at, end } of tokensOf(text)) {
    if (kind !== "end") continue;
    const statement = text.slice(start, at);
    if (hasContent(statement)) statements.push(placed(text, start, statement));
    start = end;
  }
  return { statements, rest: text.slice(start) };
}

/** The statement at a position: the last one that begins before it, otherwise the first one. */
export function statementAt(text: string, position: number): StatementText | undefined {
  const all = splitStatements(text);
  return all.findLast(({ at }) => at <= position) ?? all[0];
}

/** Whether there is more than space and comments. */
function hasContent(text: string): boolean {
  for (const { kind } of tokensOf(text)) if (kind !== "space" && kind !== "comment") return true;
  return false;
}

function placed(text: string, start: number, statement: string): StatementText {
  const lead = /^\s*/.exec(statement)?.[0].length ?? 0;
  const at = start + lead;
  const trimmed = statement.trim();
  const line = text.slice(0, at).split("\n").length;
  return { text: trimmed, at, end: at + trimmed.length, line };
}
