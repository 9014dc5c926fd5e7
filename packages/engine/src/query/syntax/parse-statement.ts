/**
 * Parser of statements: the entry. A pure function of the text, so that its result may be kept.
 */

import { STATEMENT_LENGTH_MAX } from "../../limits.ts";
import { Fault, semanticFault, syntaxFault } from "../fault.ts";
import { STATEMENT_WORDS } from "./keywords.ts";
import {
  parseAlterSystem,
  parseCreateIndex,
  parseDropIndex,
  parseExecuteFunction,
  parseShow,
} from "./parse-definition.ts";
import { parseExpression } from "./parse-expression.ts";
import { parseInsert, parseRemove, parseUpdate } from "./parse-mutation.ts";
import { parseSelect, parseWhere } from "./parse-select.ts";
import { TokenCursor } from "./token-cursor.ts";
import type { Expression, ParsedStatement, Statement, SyncContextStatement } from "./tree.ts";

/** Throws a Fault with the offset of what is wrong. */
export function parseStatement(text: string): ParsedStatement {
  const cursor = openText(text);
  const statement = parseAny(cursor);
  cursor.accept(";");
  cursor.expectEnd("the end of the statement");
  return { statement, directives: cursor.directives };
}

/** A condition by itself, as it could stand behind WHERE. */
export function parseCondition(text: string): Expression {
  const cursor = openText(text);
  const condition = parseExpression(cursor);
  cursor.expectEnd("the end of the condition");
  return condition;
}

/** A cursor at the beginning of a text that is worth reading. */
export function openText(text: string): TokenCursor {
  if (text.length > STATEMENT_LENGTH_MAX) {
    const message = `the text is longer than ${STATEMENT_LENGTH_MAX} characters; send data as parameters`;
    throw new Fault("query.too_large", message);
  }
  if (!text.isWellFormed()) {
    const offset = text.search(/\p{Cs}/u);
    throw syntaxFault("text of whole characters", "half of a surrogate pair", offset);
  }
  return new TokenCursor(text);
}

function parseAny(cursor: TokenCursor): Statement {
  switch (cursor.token.word) {
    case "SELECT":
      return parseSelect(cursor);
    case "INSERT":
      return parseInsert(cursor);
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
      return parsePrefixed(cursor);
    case "SYNC":
      return parseSyncContext(cursor);
    default:
      for (const word of STATEMENT_WORDS.slice(0, -1)) cursor.note(word);
      throw cursor.fault(STATEMENT_WORDS.at(-1) ?? "");
  }
}

/** `EXPLAIN`, `PROFILE` or `ADVISE [AND PROVISION]`, then the statement that it is about. */
function parsePrefixed(cursor: TokenCursor): Statement {
  const { at, word } = cursor.advance();
  const isProvision = word === "ADVISE" && cursor.acceptWords("AND PROVISION");
  const inner = cursor.token.at;
  const statement = parseInner(cursor);
  switch (word) {
    case "PROFILE":
      return { kind: "profile", at, statement };
    case "EXPLAIN":
      refuse(statement, UNPLANNED, { word, at: inner });
      return { kind: "explain", at, statement };
    default:
      refuse(statement, [...UNPLANNED, "explain", "profile", "advise"], { word, at: inner });
      return { kind: "advise", at, isProvision, statement };
  }
}

/** Statements for which nothing is planned. */
const UNPLANNED: readonly Statement["kind"][] = ["show", "alter_system", "sync_context"];

interface Prefix {
  readonly word: string;
  /** Where the statement behind it begins. */
  readonly at: number;
}

function refuse({ kind }: Statement, kinds: readonly Statement["kind"][], prefix: Prefix): void {
  if (!kinds.includes(kind)) return;
  throw semanticFault(`${prefix.word} has nothing to say about this kind of statement`, prefix.at);
}

/** Statements nest as expressions do. */
function parseInner(cursor: TokenCursor): Statement {
  cursor.enter();
  const statement = parseAny(cursor);
  cursor.leave();
  return statement;
}

/** `SYNC CONTEXT ( PEERS [WHERE …] ) statement`. */
function parseSyncContext(cursor: TokenCursor): SyncContextStatement {
  const { at } = cursor.expectWord("SYNC");
  cursor.expectWord("CONTEXT");
  cursor.expect("(");
  cursor.expectWord("PEERS");
  const where = parseWhere(cursor);
  cursor.expect(")");
  const statement = parseInner(cursor);
  return { kind: "sync_context", at, ...(where && { where }), statement };
}
