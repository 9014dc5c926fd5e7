/**
 * Parser of subqueries in parentheses: after FROM, IN and EXISTS.
 *
 * The cursor provides the query parser, because expressions and queries contain each other.
 */

import { assert } from "@bigpeer/protocol";
import type { TokenCursor } from "./token-cursor.ts";
import type { Query, QueryTerm, SubqueryNode } from "./tree.ts";

/** Parses a query and the parenthesis that closes it. */
function parseInside(cursor: TokenCursor): Query {
  const { parseQuery } = cursor;
  assert(parseQuery !== undefined, "a text in which there are queries");
  cursor.enterQuery();
  const query = parseQuery(cursor);
  cursor.expect(")");
  cursor.leaveQuery();
  return query;
}

/** Parses a subquery. The cursor is after the opening parenthesis. */
export function parseSubquery(
  cursor: TokenCursor,
  purpose: SubqueryNode["purpose"],
  at: number,
): SubqueryNode {
  return { kind: "subquery", at, purpose, query: parseInside(cursor) };
}

/** Parses `(query) [AS] alias`. */
export function parseQueryTerm(cursor: TokenCursor): QueryTerm {
  const { at } = cursor.expect("(");
  const query = parseInside(cursor);
  const alias = cursor.acceptAlias();
  if (alias === undefined) throw cursor.fault("an alias");
  return { at, query, alias };
}
