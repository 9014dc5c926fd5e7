/**
 * Keywords of the query language. None is reserved outright: a word is a keyword where the grammar
 * expects it, and most can name a field. These sets list the words for which that would be
 * ambiguous.
 */

import { INFIX_WORDS } from "./operators.ts";

/** Words between or after operands. Never a name unless quoted. */
export const OPERATOR_WORDS: ReadonlySet<string> = new Set([
  ...INFIX_WORDS,
  "AS",
  "ELSE",
  "SATISFIES",
  "THEN",
  "WHEN",
]);

/** Words that begin or end a clause. A name if the next token shows that no clause begins here. */
export const CLAUSE_WORDS: ReadonlySet<string> = new Set([
  "END",
  "FROM",
  "GROUP",
  "HAVING",
  "JOIN",
  "LIMIT",
  "OFFSET",
  "ORDER",
  "RETURNING",
  "UNION",
  "WHERE",
]);

/** Words that can follow an expression or a collection, so they are no alias without AS. */
const FOLLOWING_WORDS = [
  "APPLY",
  "ASC",
  "CROSS",
  "DESC",
  "ESCAPE",
  "EXCEPT",
  "FETCH",
  "FILTER",
  "FOR",
  "FULL",
  "INNER",
  "INTERSECT",
  "INTO",
  "LEFT",
  "LET",
  "NATURAL",
  "NOT",
  "NULLS",
  "ON",
  "OUTER",
  "OVER",
  "RIGHT",
  "SET",
  "UNNEST",
  "UNSET",
  "USE",
  "USING",
  "WITH",
  "WITHIN",
];

export const NO_ALIAS: ReadonlySet<string> = new Set([
  ...OPERATOR_WORDS,
  ...CLAUSE_WORDS,
  ...FOLLOWING_WORDS,
]);

/** The printer quotes names that are one of these, wherever they stand. */
export const QUOTED_WORDS: ReadonlySet<string> = new Set([
  ...NO_ALIAS,
  "ALL",
  "ANY",
  "ARRAY",
  "BOTH",
  "CASE",
  "CAST",
  "COLLECTION",
  "DEFAULT",
  "DISTINCT",
  "ELEMENT",
  "EXISTS",
  "EVERY",
  "FALSE",
  "IF",
  "LEADING",
  "LIST",
  "MISSING",
  "NULL",
  "OBJECT",
  "RAW",
  "SELECT",
  "TRAILING",
  "TRUE",
  "VALUE",
]);

/** Words that begin a statement. */
export const STATEMENT_WORDS: readonly string[] = [
  "SELECT",
  "INSERT",
  "UPDATE",
  "DELETE",
  "EVICT",
  "TOMBSTONE",
  "CREATE",
  "DROP",
  "EXPLAIN",
  "PROFILE",
  "ADVISE",
  "EXECUTE",
  "SHOW",
  "ALTER",
  "SYNC",
];

/** Types of fields in a declaration. */
export const TYPE_WORDS: ReadonlySet<string> = new Set([
  "REGISTER",
  "COUNTER",
  "PN_COUNTER",
  "ATTACHMENT",
  "MAP",
]);
