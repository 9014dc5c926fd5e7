/**
 * Statement parser: entry point that turns text into a syntax tree. It is a pure function of the
 * text, so its result can be cached.
 */

import { STATEMENT_LENGTH_MAX } from "../../limits.ts";
import { finish, type Steps } from "../../steps.ts";
import { Fault, syntaxFault } from "../fault.ts";
import { STATEMENT_WORDS } from "./keywords.ts";
import { parsePlainCall } from "./parse-call.ts";
import { parseCollectionName } from "./parse-collection.ts";
import { parseExpression } from "./parse-expression.ts";
import { parseCreateIndex, parseDropIndex } from "./parse-index.ts";
import { parseInsert, parseRemove, parseUpdate } from "./parse-mutation.ts";
import { parseQuery, parseWhere } from "./parse-select.ts";
import { parseAlterSystem, parseShow } from "./parse-setting.ts";
import { type ParseQuery, TokenCursor } from "./token-cursor.ts";
import type {
  ExecuteFunctionStatement,
  ExplainStatement,
  ExplainSyncStatement,
  Expression,
  ParsedStatement,
  Statement,
  SyncContextStatement,
} from "./tree.ts";

/** Parses a statement. Throws a Fault with the offset of the error. */
export function parseStatement(text: string, tokensMax?: number): ParsedStatement {
  return finish(parseInSteps(text, tokensMax));
}

/** Parses in steps, with pauses between the documents of an INSERT, which may be many. */
export function* parseInSteps(text: string, tokensMax?: number): Steps<ParsedStatement> {
  const cursor = openText(text, parseQuery, tokensMax);
  const statement = yield* parseAny(cursor);
  cursor.accept(";");
  cursor.expectEnd("the end of the statement");
  return { statement, directives: cursor.directives };
}

/** Parses a single condition, as after WHERE. */
export function parseCondition(text: string): Expression {
  const cursor = openText(text, parseQuery);
  const condition = parseExpression(cursor);
  cursor.expectEnd("the end of the condition");
  return condition;
}

/** Opens a cursor on a text, after checking its length and encoding. */
export function openText(text: string, queries?: ParseQuery, tokensMax?: number): TokenCursor {
  if (text.length > STATEMENT_LENGTH_MAX) {
    const message = `the text is longer than ${STATEMENT_LENGTH_MAX} characters; send data as parameters`;
    throw new Fault("query.too_large", message);
  }
  if (!text.isWellFormed()) {
    const offset = text.search(/\p{Cs}/u);
    throw syntaxFault("text of whole characters", "half of a surrogate pair", offset);
  }
  return new TokenCursor(text, queries, tokensMax);
}

function* parseAny(cursor: TokenCursor): Steps<Statement> {
  switch (cursor.token.word) {
    case "SELECT":
      return parseQuery(cursor);
    case "INSERT":
      return yield* parseInsert(cursor);
    case "UPDATE":
      return parseUpdate(cursor);
    case "DELETE":
    case "EVICT":
    case "TOMBSTONE":
      return parseRemove(cursor);
    case "CREATE":
      return parseCreateIndex(cursor);
    case "DROP":
      return parseDropIndex(cursor);
    case "SHOW":
      return parseShow(cursor);
    case "ALTER":
      return parseAlterSystem(cursor);
    case "EXECUTE":
      return parseExecuteFunction(cursor);
    case "EXPLAIN":
    case "PROFILE":
    case "ADVISE":
      return yield* parsePrefixed(cursor);
    case "SYNC":
      return yield* parseSyncContext(cursor, cursor.advance().at);
    default:
      for (const word of STATEMENT_WORDS.slice(0, -1)) cursor.note(word);
      throw cursor.fault(STATEMENT_WORDS.at(-1) ?? "");
  }
}

/** Parses `EXPLAIN`, `PROFILE` or `ADVISE [AND PROVISION]` with its inner statement. */
function* parsePrefixed(cursor: TokenCursor): Steps<Statement> {
  const { at, word } = cursor.advance();
  if (word === "EXPLAIN" && cursor.token.word === "SYNC")
    return yield* parseExplainSync(cursor, at);
  const isProvision = word === "ADVISE" && cursor.acceptWords("AND PROVISION");
  const statement = yield* parseInner(cursor);
  switch (word) {
    case "PROFILE":
      return { kind: "profile", at, statement };
    case "EXPLAIN":
      return { kind: "explain", at, statement };
    default:
      return { kind: "advise", at, isProvision, statement };
  }
}

function parseExecuteFunction(cursor: TokenCursor): ExecuteFunctionStatement {
  const { at } = cursor.expectWord("EXECUTE");
  cursor.expectWord("FUNCTION");
  return { kind: "execute_function", at, call: parsePlainCall(cursor, parseExpression) };
}

/** Parses an inner statement, which counts as nesting. */
function* parseInner(cursor: TokenCursor): Steps<Statement> {
  cursor.enter();
  const statement = yield* parseAny(cursor);
  cursor.leave();
  return statement;
}

/** Parses `EXPLAIN SYNC collection, id FOR peerKey`; CONTEXT may name a collection. */
function* parseExplainSync(
  cursor: TokenCursor,
  at: number,
): Steps<ExplainStatement | ExplainSyncStatement> {
  const sync = cursor.expectWord("SYNC");
  if (cursor.token.word === "CONTEXT" && cursor.peek().type === "(") {
    return { kind: "explain", at, statement: yield* parseSyncContext(cursor, sync.at) };
  }
  const collection = parseCollectionName(cursor);
  cursor.expect(",");
  const id = parseExpression(cursor);
  cursor.expectWord("FOR");
  return { kind: "explain_sync", at, collection, id, peerKey: parseExpression(cursor) };
}

/** Parses `CONTEXT ( PEERS [WHERE …] ) statement` after SYNC, which is at `at`. */
function* parseSyncContext(cursor: TokenCursor, at: number): Steps<SyncContextStatement> {
  cursor.expectWord("CONTEXT");
  cursor.expect("(");
  cursor.expectWord("PEERS");
  const where = parseWhere(cursor);
  cursor.expect(")");
  const statement = yield* parseInner(cursor);
  return { kind: "sync_context", at, ...(where && { where }), statement };
}
