/**
 * Parser of SELECT and UNION, and of clauses that other statements share with SELECT.
 */

import type { Fault } from "../fault.ts";
import { limitHint } from "./habit-hints.ts";
import { NO_ALIAS } from "./keywords.ts";
import { parseSource } from "./parse-collection.ts";
import { parseExpression, parseParameter } from "./parse-expression.ts";
import type { TokenCursor } from "./token-cursor.ts";
import type {
  Expression,
  Join,
  OrderTerm,
  Projection,
  Query,
  SelectStatement,
  UnionArm,
  Unnest,
} from "./tree.ts";

/** Parses `SELECT … [UNION [ALL] SELECT …]`; clauses after the last arm apply to all of them. */
export function parseQuery(cursor: TokenCursor): Query {
  const first = parseSelect(cursor);
  const others: UnionArm[] = [];
  while (cursor.acceptWord("UNION")) {
    cursor.countQuery();
    const isAll = cursor.acceptWord("ALL");
    others.push({ isAll, select: parseSelect(cursor) });
  }
  const orderBy = parseOrderBy(cursor);
  const bounds = parseBounds(cursor);
  if (others.length === 0) return { ...first, orderBy, ...bounds };
  return { kind: "union", at: first.at, first, others, orderBy, ...bounds };
}

/** Parses a SELECT without ORDER BY, LIMIT and OFFSET. */
function parseSelect(cursor: TokenCursor): SelectStatement {
  const { at } = cursor.expectWord("SELECT");
  const isDistinct = cursor.acceptWord("DISTINCT");
  if (!isDistinct) skipAll(cursor);
  const isRaw = acceptRaw(cursor);
  const projections = parseProjections(cursor);
  cursor.expectWord("FROM");
  const from = parseSource(cursor);
  const joins = parseJoins(cursor);
  const where = parseWhere(cursor);
  const groupBy = parseGroupBy(cursor);
  const having = cursor.acceptWord("HAVING") ? parseExpression(cursor) : undefined;
  return {
    kind: "select",
    at,
    isDistinct,
    isRaw,
    projections,
    from,
    joins,
    ...(where && { where }),
    ...(groupBy && { groupBy }),
    ...(having && { having }),
    orderBy: [],
  };
}

/** `SELECT ALL a` is `SELECT a`; in `SELECT all, b` it is a field. */
function skipAll(cursor: TokenCursor): void {
  if (cursor.token.word !== "ALL") return;
  const { type, word } = cursor.peek();
  if (type !== "," && type !== "." && !NO_ALIAS.has(word)) cursor.advance();
}

/** Accepts RAW, VALUE or ELEMENT before a name; otherwise these words are names. */
function acceptRaw(cursor: TokenCursor): boolean {
  const { word } = cursor.token;
  if (word !== "RAW" && word !== "VALUE" && word !== "ELEMENT") return false;
  const next = cursor.peek();
  if (next.type !== "quoted" && (next.type !== "word" || NO_ALIAS.has(next.word))) return false;
  cursor.advance();
  return true;
}

export function parseProjections(cursor: TokenCursor): readonly Projection[] {
  const projections = [parseProjection(cursor)];
  while (acceptNext(cursor, projections)) projections.push(parseProjection(cursor));
  return projections;
}

/** Accepts a comma. After a lone `*` errors do not suggest one: nothing useful can follow. */
function acceptNext(cursor: TokenCursor, projections: readonly Projection[]): boolean {
  return projections.at(-1)?.kind === "all" ? cursor.accept(",") : cursor.acceptComma();
}

function parseProjection(cursor: TokenCursor): Projection {
  const { at, type } = cursor.token;
  if (cursor.accept("*")) return { kind: "all", at };
  const expression = parseExpression(cursor);
  const { kind } = expression;
  // A path itself never ends with a parenthesis.
  const isEnclosed = type === "(" && cursor.previous?.type === ")";
  const isWrapped = isEnclosed && (kind === "name" || kind === "field");
  if (cursor.token.type === "." && isPath(expression)) {
    cursor.advance();
    cursor.expect("*");
    return { kind: "all_of", of: expression, at };
  }
  const alias = cursor.acceptAlias();
  if (alias !== undefined) return { kind: "column", at, expression, alias };
  return { kind: "column", at, expression, ...(isWrapped && { isWrapped }) };
}

function isPath({ kind }: Expression): boolean {
  return (
    kind === "name" ||
    kind === "field" ||
    kind === "element" ||
    kind === "parameter" ||
    kind === "object"
  );
}

function parseJoins(cursor: TokenCursor): (Join | Unnest)[] {
  const joins: (Join | Unnest)[] = [];
  for (let join = acceptJoin(cursor); join !== undefined; join = acceptJoin(cursor)) {
    joins.push(join);
  }
  return joins;
}

function acceptJoin(cursor: TokenCursor): Join | Unnest | undefined {
  const { at } = cursor.token;
  if (cursor.acceptWord("JOIN")) return parseJoin(cursor, "inner", at);
  if (cursor.acceptWord("UNNEST")) return parseUnnest(cursor, false, at);
  const type = acceptJoinType(cursor);
  if (type === undefined) return undefined;
  if (type !== "inner") cursor.acceptWord("OUTER");
  if (type === "left" && cursor.acceptWord("UNNEST")) return parseUnnest(cursor, true, at);
  cursor.expectWord("JOIN");
  return parseJoin(cursor, type, at);
}

function acceptJoinType(cursor: TokenCursor): Join["type"] | undefined {
  if (cursor.acceptWord("INNER")) return "inner";
  if (cursor.acceptWord("LEFT")) return "left";
  return cursor.acceptWord("RIGHT") ? "right" : undefined;
}

function parseJoin(cursor: TokenCursor, type: Join["type"], at: number): Join {
  const term = parseSource(cursor);
  cursor.expectWord("ON");
  return { at, type, term, on: parseExpression(cursor) };
}

function parseUnnest(cursor: TokenCursor, isOuter: boolean, at: number): Unnest {
  const of = parseExpression(cursor);
  const alias = cursor.acceptAlias();
  return { at, type: "unnest", isOuter, of, ...(alias !== undefined && { alias }) };
}

export function parseWhere(cursor: TokenCursor): Expression | undefined {
  return cursor.acceptWord("WHERE") ? parseExpression(cursor) : undefined;
}

function parseGroupBy(cursor: TokenCursor): readonly Expression[] | undefined {
  if (!cursor.acceptWords("GROUP BY")) return undefined;
  const keys = [parseExpression(cursor)];
  while (cursor.acceptComma()) keys.push(parseExpression(cursor));
  return keys;
}

export function parseOrderBy(cursor: TokenCursor): readonly OrderTerm[] {
  const terms: OrderTerm[] = [];
  if (!cursor.acceptWords("ORDER BY")) return terms;
  do {
    const expression = parseExpression(cursor);
    const isDescending = !cursor.acceptWord("ASC") && cursor.acceptWord("DESC");
    const nulls = parseNulls(cursor);
    terms.push({ expression, isDescending, ...(nulls && { nulls }) });
  } while (cursor.acceptComma());
  return terms;
}

/** Parses `NULLS FIRST` or `NULLS LAST`. */
function parseNulls(cursor: TokenCursor): OrderTerm["nulls"] {
  if (!cursor.acceptWord("NULLS")) return undefined;
  if (cursor.acceptWord("FIRST")) return "first";
  cursor.expectWord("LAST");
  return "last";
}

export interface Bounds {
  limit?: Expression;
  offset?: Expression;
}

/** Parses LIMIT and OFFSET, each at most once, in either order. */
export function parseBounds(cursor: TokenCursor): Bounds {
  const bounds: Bounds = {};
  for (;;) {
    if (bounds.limit === undefined && cursor.acceptWord("LIMIT")) {
      bounds.limit = parseBound(cursor);
      if (cursor.token.type === ",") throw commaFault(cursor, bounds.limit);
    } else if (bounds.offset === undefined && cursor.acceptWord("OFFSET")) {
      bounds.offset = parseBound(cursor);
    } else {
      return bounds;
    }
  }
}

/** Error for `LIMIT start, count`, the form of other languages. */
function commaFault(cursor: TokenCursor, limit: Expression): Fault {
  const start = limit.kind === "literal" ? limit.value : undefined;
  return cursor.hintedFault("OFFSET", limitHint(start, cursor.peek()));
}

/** Parses a number or a parameter, since the bound must be known before the first row. */
function parseBound(cursor: TokenCursor): Expression {
  const { type, at, number } = cursor.token;
  if (type === ":") return parseParameter(cursor);
  if (type === "number" && (typeof number === "bigint" || Number.isSafeInteger(number))) {
    cursor.advance();
    return { kind: "literal", at, value: number };
  }
  throw cursor.fault("a whole number or a parameter");
}
