/**
 * Mutation parser: parses the statements that write: INSERT, UPDATE, DELETE, EVICT, TOMBSTONE.
 */

import { DEPTH_MAX } from "@bigpeer/protocol";
import type { Steps } from "../../steps.ts";
import { Fault } from "../fault.ts";
import { COLUMNS_HINT, setHint, typesHint } from "./habit-hints.ts";
import { parseCollection, parseTerm } from "./parse-collection.ts";
import { parseExpression, parseFieldName, parseParameter } from "./parse-expression.ts";
import {
  parseBounds,
  parseOrderBy,
  parseProjections,
  parseQuery,
  parseWhere,
} from "./parse-select.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type {
  ApplyItem,
  ConflictPolicy,
  Expression,
  FromTerm,
  InsertDocuments,
  InsertStatement,
  Projection,
  RemoveStatement,
  Selection,
  SetItem,
  Target,
  UpdateStatement,
} from "./tree.ts";

/** Parses `INSERT INTO c [INITIAL] DOCUMENTS|VALUES (…), … | SELECT …` with its last clauses. */
export function* parseInsert(cursor: TokenCursor): Steps<InsertStatement> {
  const { at } = cursor.expectWord("INSERT");
  cursor.expectWord("INTO");
  const into = parseCollection(cursor, SOURCE_WORDS);
  const isInitial = cursor.acceptWord("INITIAL");
  const source = yield* parseSource(cursor, into.name, isInitial);
  // INITIAL implies a conflict policy.
  const conflict = isInitial ? "fail" : parseConflict(cursor);
  const returning = parseReturning(cursor);
  return { kind: "insert", at, into, isInitial, source, conflict, ...(returning && { returning }) };
}

const SOURCE_WORDS: ReadonlySet<string> = new Set(["DOCUMENTS", "VALUES", "INITIAL", "SELECT"]);

function* parseSource(
  cursor: TokenCursor,
  collection: string,
  isInitial: boolean,
): Steps<InsertStatement["source"]> {
  if (cursor.acceptWord("DOCUMENTS") || cursor.acceptWord("VALUES")) {
    return yield* parseDocuments(cursor);
  }
  if (isInitial) throw cursor.fault("DOCUMENTS");
  if (cursor.token.type === "(") {
    const types = typesHint(collection, cursor.ahead(4));
    throw cursor.hintedFault("SELECT", types ? `write INSERT INTO ${types}` : COLUMNS_HINT);
  }
  if (cursor.token.word !== "SELECT") throw cursor.fault("SELECT");
  return parseQuery(cursor);
}

/** Tokens of documents between two pauses. */
const TOKENS_PER_PAUSE = 1024;

function* parseDocuments(cursor: TokenCursor): Steps<InsertDocuments> {
  const documents: Expression[] = [];
  let paused = cursor.passed;
  do {
    if (cursor.passed - paused > TOKENS_PER_PAUSE) {
      yield;
      paused = cursor.passed;
    }
    cursor.startPiece();
    cursor.expect("(");
    cursor.enter();
    documents.push(parseDocument(cursor));
    if (cursor.token.type === ",") throw cursor.hintedFault('")"', COLUMNS_HINT);
    cursor.expect(")");
    cursor.leave();
  } while (cursor.acceptComma());
  cursor.startPiece();
  return { kind: "documents", documents };
}

/** Parses a document. A parameter is the whole document: no path may follow it. */
function parseDocument(cursor: TokenCursor): Expression {
  return cursor.token.type === ":" ? parseParameter(cursor) : parseExpression(cursor);
}

const POLICIES: ReadonlyMap<string, ConflictPolicy> = new Map([
  ["NOTHING", "nothing"],
  ["UPDATE", "update"],
  ["MERGE", "merge"],
  ["UPDATE_LOCAL_DIFF", "update_local_diff"],
]);

function parseConflict(cursor: TokenCursor): ConflictPolicy {
  if (!cursor.acceptWords("ON ID")) return "fail";
  cursor.expectWord("CONFLICT");
  if (cursor.acceptWord("FAIL")) return "fail";
  cursor.expectWord("DO");
  for (const [word, policy] of POLICIES) if (cursor.acceptWord(word)) return policy;
  throw cursor.fault("UPDATE_LOCAL_DIFF");
}

function parseReturning(cursor: TokenCursor): readonly Projection[] | undefined {
  return cursor.acceptWord("RETURNING") ? parseProjections(cursor) : undefined;
}

export function parseUpdate(cursor: TokenCursor): UpdateStatement {
  const { at } = cursor.expectWord("UPDATE");
  const term = parseTerm(cursor);
  const apply = cursor.acceptWord("APPLY") ? parseItems(cursor, parseApplyItem) : [];
  const set = cursor.acceptWord("SET") ? parseItems(cursor, parseSetItem) : [];
  const unset = cursor.acceptWord("UNSET") ? parseItems(cursor, parseTarget) : [];
  if (apply.length + set.length + unset.length === 0) throw cursor.fault("UNSET");
  return { kind: "update", at, apply, set, unset, ...parseSelection(cursor, term) };
}

function parseItems<T>(cursor: TokenCursor, parseItem: (cursor: TokenCursor) => T): readonly T[] {
  const items = [parseItem(cursor)];
  while (cursor.acceptComma()) items.push(parseItem(cursor));
  return items;
}

function parseTarget(cursor: TokenCursor): Target {
  const { at } = cursor.token;
  return { at, path: parsePath(cursor) };
}

/** Parses names with dots between them, the only form that can be written or indexed. */
export function parsePath(cursor: TokenCursor, followers?: ReadonlySet<string>): readonly string[] {
  const { at } = cursor.token;
  const path = [cursor.expectName("the name of a field", followers)];
  while (cursor.accept(".")) path.push(parseFieldName(cursor));
  if (path.length <= DEPTH_MAX) return path;
  throw new Fault("query.too_large", `expected a path of at most ${DEPTH_MAX} fields`, at);
}

function parseSetItem(cursor: TokenCursor): SetItem {
  const { at, path } = parseTarget(cursor);
  if (cursor.token.type !== "=") throw cursor.hintedFault('"="', setHint(path, cursor.token));
  cursor.advance();
  return { at, path, value: parseExpression(cursor) };
}

const METHOD_WORDS: ReadonlySet<string> = new Set(["INCREMENT", "PN_INCREMENT", "RESTART"]);

function parseApplyItem(cursor: TokenCursor): ApplyItem {
  const target: Target = { at: cursor.token.at, path: parsePath(cursor, METHOD_WORDS) };
  if (cursor.acceptWords("INCREMENT BY")) {
    return { ...target, method: "increment", value: parseExpression(cursor) };
  }
  if (cursor.acceptWords("PN_INCREMENT BY")) {
    return { ...target, method: "pn_increment", value: parseExpression(cursor) };
  }
  cursor.expectWord("RESTART");
  if (!cursor.acceptWord("WITH")) return { ...target, method: "restart" };
  return { ...target, method: "restart", value: parseExpression(cursor) };
}

export function parseRemove(cursor: TokenCursor): RemoveStatement {
  const { at, word } = cursor.advance();
  const method = word === "DELETE" ? "delete" : word === "EVICT" ? "evict" : "tombstone";
  cursor.expectWord("FROM");
  return { kind: "remove", at, method, ...parseSelection(cursor, parseTerm(cursor)) };
}

function parseSelection(cursor: TokenCursor, term: FromTerm): Selection {
  const where = parseWhere(cursor);
  const orderBy = parseOrderBy(cursor);
  const bounds = parseBounds(cursor);
  const returning = parseReturning(cursor);
  return {
    term,
    ...(where && { where }),
    orderBy,
    ...bounds,
    ...(returning && { returning }),
  };
}
