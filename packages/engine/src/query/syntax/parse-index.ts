/**
 * Index statement parser: parses CREATE INDEX and DROP INDEX.
 */

import { parseCollectionName } from "./parse-collection.ts";
import { parsePath } from "./parse-mutation.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { CreateIndexStatement, DropIndexStatement, IndexKeyNode } from "./tree.ts";

/** Parses `CREATE INDEX [IF NOT EXISTS] name ON collection (path [ASC|DESC], …)`. */
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

/** Accepts IF only before NOT or EXISTS: an index may be named `if`. */
function acceptIf(cursor: TokenCursor): boolean {
  const { word } = cursor.peek();
  return (word === "NOT" || word === "EXISTS") && cursor.acceptWord("IF");
}

/** Parses `DROP INDEX [IF EXISTS] name ON collection`, or `collection.name`. */
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
