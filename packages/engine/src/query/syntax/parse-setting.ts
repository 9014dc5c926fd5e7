/**
 * Settings statement parser: parses SHOW and ALTER SYSTEM.
 */

import { semanticFault } from "../fault.ts";
import { parseText } from "./parse-collection.ts";
import { parseExpression } from "./parse-expression.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { AlterSystemStatement, ShowPattern, ShowStatement } from "./tree.ts";

/** Parses `SHOW name`, or `SHOW ALL [LIKE|ILIKE pattern [ESCAPE character]]`. */
export function parseShow(cursor: TokenCursor): ShowStatement {
  const { at } = cursor.expectWord("SHOW");
  if (!cursor.acceptWord("ALL")) {
    return { kind: "show", at, name: cursor.expectName("the name of a setting") };
  }
  const pattern = parseShowPattern(cursor);
  return { kind: "show", at, ...(pattern && { pattern }) };
}

function parseShowPattern(cursor: TokenCursor): ShowPattern | undefined {
  const operator = cursor.acceptWord("LIKE")
    ? "like"
    : cursor.acceptWord("ILIKE")
      ? "ilike"
      : undefined;
  if (operator === undefined) return undefined;
  const pattern = parseText(cursor, "a string");
  if (!cursor.acceptWord("ESCAPE")) return { operator, pattern };
  return { operator, pattern, escape: parseText(cursor, "a string") };
}

/** Parses `ALTER SYSTEM SET name =|TO value|DEFAULT`, or `ALTER SYSTEM RESET name|ALL`. */
export function parseAlterSystem(cursor: TokenCursor): AlterSystemStatement {
  const { at } = cursor.expectWord("ALTER");
  cursor.expectWord("SYSTEM");
  if (cursor.acceptWord("RESET")) {
    if (cursor.acceptWord("ALL")) return { kind: "alter_system", at };
    return { kind: "alter_system", at, name: cursor.expectName("the name of a setting") };
  }
  cursor.expectWord("SET");
  const name = cursor.expectName("the name of a setting");
  if (!cursor.accept("=")) {
    cursor.note('"="');
    cursor.expectWord("TO");
  }
  if (cursor.acceptWord("DEFAULT")) return { kind: "alter_system", at, name };
  const value = parseExpression(cursor);
  if (value.kind === "literal" && value.value === null) {
    throw semanticFault("a setting is never null; RESET gives it its default", value.at);
  }
  return { kind: "alter_system", at, name, value };
}
