/**
 * Parser of collection names with their type declarations, alias and USE clause.
 */

import { type MutableObject, setField, type TypeMark, type Types } from "@bigpeer/protocol";
import { semanticFault } from "../fault.ts";
import { typesHint } from "./habit-hints.ts";
import { TYPE_WORDS } from "./keywords.ts";
import { parseExpression } from "./parse-expression.ts";
import { parseQueryTerm } from "./parse-subquery.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type { CollectionRef, Expression, FromTerm, SourceTerm, Use } from "./tree.ts";

/** Parses `collection [[AS] alias] [USE …]`. */
export function parseTerm(cursor: TokenCursor): FromTerm {
  const collection = parseCollection(cursor);
  if (cursor.token.type === "(") refuseTypes(cursor, collection);
  const alias = cursor.acceptAlias();
  const use = cursor.acceptWord("USE") ? parseUse(cursor) : undefined;
  return { collection, ...(alias !== undefined && { alias }), ...(use && { use }) };
}

/** Rejects types after a name without COLLECTION; the caller handles any other parenthesis. */
function refuseTypes(cursor: TokenCursor, { name }: CollectionRef): void {
  const hint = typesHint(name, cursor.ahead(4));
  if (hint !== undefined) throw cursor.hintedFault("an alias", `write ${hint}`);
}

/** Parses a FROM term of SELECT: a collection or a subquery. */
export function parseSource(cursor: TokenCursor): SourceTerm {
  return cursor.token.type === "(" && cursor.peek().word === "SELECT"
    ? parseQueryTerm(cursor)
    : parseTerm(cursor);
}

const TYPES_START: ReadonlySet<string> = new Set(["("]);

/** Parses `[COLLECTION] [namespace:]name`, and after the keyword `(field TYPE, …)`. */
export function parseCollection(
  cursor: TokenCursor,
  followers?: ReadonlySet<string>,
): CollectionRef {
  const hasKeyword = cursor.token.word === "COLLECTION";
  if (hasKeyword) cursor.advance();
  const name = parseCollectionName(cursor, hasKeyword ? TYPES_START : followers);
  if (!hasKeyword || cursor.token.type !== "(") return name;
  return { ...name, types: parseTypes(cursor) };
}

/** Parses `[namespace:]name`. */
export function parseCollectionName(
  cursor: TokenCursor,
  followers?: ReadonlySet<string>,
): CollectionRef {
  const { at } = cursor.token;
  const first = cursor.expectName("the name of a collection", followers);
  if (!cursor.accept(":")) return { at, name: first };
  const name = cursor.expectName("the name of a collection", followers);
  return first === "default" ? { at, name } : { at, namespace: first, name };
}

function parseTypes(cursor: TokenCursor): Types {
  cursor.expect("(");
  cursor.enter();
  const types: MutableObject = {};
  if (cursor.token.type !== ")") {
    do {
      parseFieldType(cursor, types);
    } while (cursor.acceptComma());
  }
  cursor.expect(")");
  cursor.leave();
  return types as Types;
}

function parseFieldType(cursor: TokenCursor, types: MutableObject): void {
  const { at } = cursor.token;
  const name = cursor.expectName("the name of a field", TYPE_WORDS);
  if (Object.hasOwn(types, name)) {
    throw semanticFault(`the type of ${JSON.stringify(name)} is declared twice`, at);
  }
  setField(types, name, parseType(cursor));
}

function parseType(cursor: TokenCursor): TypeMark {
  const { word } = cursor.token;
  switch (word) {
    case "REGISTER":
      cursor.advance();
      return "register";
    case "COUNTER":
      cursor.advance();
      return "counter";
    case "PN_COUNTER":
      cursor.advance();
      return "pn_counter";
    case "ATTACHMENT":
      cursor.advance();
      return "attachment";
    case "MAP":
      cursor.advance();
      return cursor.token.type === "(" ? parseTypes(cursor) : "map";
    default:
      for (const type of ["REGISTER", "MAP", "COUNTER", "PN_COUNTER"]) cursor.note(type);
      throw cursor.fault("ATTACHMENT");
  }
}

function parseUse(cursor: TokenCursor): Use {
  if (cursor.acceptWord("IDS")) return parseIds(cursor);
  if (cursor.acceptWord("INDEX")) return { kind: "index", names: parseIndexNames(cursor) };
  cursor.expectWord("DIRECTIVES");
  return { kind: "directives", json: parseText(cursor, "a string with JSON") };
}

function parseIds(cursor: TokenCursor): Use {
  if (cursor.acceptWord("LIST")) return { kind: "id_list", list: parseExpression(cursor) };
  const ids: Expression[] = [];
  do {
    ids.push(parseExpression(cursor));
  } while (cursor.acceptComma());
  return { kind: "ids", ids };
}

/** Parses the name of an index; an empty name or NULL means that no index is used. */
function parseIndexNames(cursor: TokenCursor): readonly string[] {
  const { type, text } = cursor.token;
  if (cursor.acceptWord("NULL")) return [];
  if (type === "string") {
    cursor.advance();
    return text === "" ? [] : [text];
  }
  return [cursor.expectName("the name of an index")];
}

export function parseText(cursor: TokenCursor, what: string): string {
  if (cursor.token.type !== "string") throw cursor.fault(what);
  return cursor.advance().text;
}
