/**
 * Parser of queries in parentheses: after FROM, IN and EXISTS.
 *
 * What a query is, the cursor knows: expressions hold queries and queries expressions.
 */

import { assert } from "@bigpeer/protocol";
import type { TokenCursor } from "./token-cursor.ts";
import type { Query, QueryTerm, SubqueryNode } from "./tree.ts";

/** From the first word of the query to behind the parenthesis that closes it. */
function parseInside(cursor: TokenCursor): Query {
  const { parseQuery } = cursor;
  assert(parseQuery !== undefined, "a text in which there are queries");
  cursor.enterQuery();
  const query = parseQuery(cursor);
  cursor.expect(")");
  cursor.leaveQuery();
  return query;
}

/** The cursor stands behind the parenthesis that opens the query. */
export function parseSubquery(
  cursor: TokenCursor,
  purpose: SubqueryNode["purpose"],
  at: number,
): SubqueryNode {
  return { kind: "subquery", at, purpose, query: parseInside(cursor) };
}

/** `(query) [AS] alias`. */
export function parseQueryTerm(cursor: TokenCursor): QueryTerm {
  const { at } = cursor.expect("(");
  const query = parseInside(cursor);
  const alias = cursor.acceptAlias();
  if (alias === undefined) throw cursor.fault("an alias");
  return { at, query, alias };
}
