/**
 * Parser of what concerns the store as a whole: indexes, settings, and a function by itself.
 */

import { semanticFault } from "../fault.ts";
import { parsePlainCall } from "./parse-call.ts";
import { parseCollectionName, parseText } from "./parse-collection.ts";
import { parseExpression } from "./parse-expression.ts";
import { parsePath } from "./parse-mutation.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type {
  AlterSystemStatement,
  CreateIndexStatement,
  DropIndexStatement,
  ExecuteFunctionStatement,
  IndexKeyNode,
  ShowPattern,
  ShowStatement,
} from "./tree.ts";

/** `CREATE INDEX [IF NOT EXISTS] name ON collection (path [ASC|DESC], …)`. */
export function parseCreateIndex(cursor: TokenCursor): CreateIndexStatement {
  const { at } = cursor.expectWord("CREATE");
  cursor.expectWord("INDEX");
  const ifNotExists = acceptIf(cursor);
  if (ifNotExists) {
    cursor.expectWord("NOT");
    cursor.expectWord("EXISTS");
  }
  const name = cursor.expectName("the name of an index");
  cursor.expectWord("ON");
  const collection = parseCollectionName(cursor);
  cursor.expect("(");
  const keys: IndexKeyNode[] = [];
  do {
    const path = parsePath(cursor);
    const isDescending = !cursor.acceptWord("ASC") && cursor.acceptWord("DESC");
    keys.push({ path, isDescending });
  } while (cursor.acceptComma());
  cursor.expect(")");
  return { kind: "create_index", at, name, collection, keys, ifNotExists };
}

/** An index may be called `if` all the same. */
function acceptIf(cursor: TokenCursor): boolean {
  const { word } = cursor.peek();
  return (word === "NOT" || word === "EXISTS") && cursor.acceptWord("IF");
}

/** `DROP INDEX [IF EXISTS] name ON collection`, or `collection.name`. */
export function parseDropIndex(cursor: TokenCursor): DropIndexStatement {
  const { at } = cursor.expectWord("DROP");
  cursor.expectWord("INDEX");
  const ifExists = acceptIf(cursor);
  if (ifExists) cursor.expectWord("EXISTS");
  const first = cursor.token.at;
  const name = cursor.expectName("the name of an index");
  if (cursor.accept(".")) {
    const collection = { at: first, name };
    const index = cursor.expectName("the name of an index");
    return { kind: "drop_index", at, name: index, collection, ifExists };
  }
  cursor.note('"."');
  cursor.expectWord("ON");
  return { kind: "drop_index", at, name, collection: parseCollectionName(cursor), ifExists };
}

/** `SHOW name`, or `SHOW ALL [LIKE|ILIKE pattern [ESCAPE character]]`. */
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

/** `ALTER SYSTEM SET name =|TO value|DEFAULT`, or `ALTER SYSTEM RESET name|ALL`. */
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

export function parseExecuteFunction(cursor: TokenCursor): ExecuteFunctionStatement {
  const { at } = cursor.expectWord("EXECUTE");
  cursor.expectWord("FUNCTION");
  return { kind: "execute_function", at, call: parsePlainCall(cursor, parseExpression) };
}
