/**
 * Words with a meaning. None is reserved outright: a word is a keyword where the grammar looks for
 * it, and most may name a field as they stand. These sets say where that would be ambiguous.
 */

/** Between or after operands. Never a name unless quoted. */
export const OPERATOR_WORDS: ReadonlySet<string> = new Set([
  "AND",
  "AS",
  "BETWEEN",
  "ELSE",
  "ILIKE",
  "IN",
  "IS",
  "LIKE",
  "OR",
  "SATISFIES",
  "SIMILAR",
  "THEN",
  "WHEN",
]);

/** Begin or end a part of a statement. A name where what follows shows that nothing begins here. */
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

/** May stand after an expression or a collection, hence are no alias without AS. */
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

/** Printed names that are one of these are quoted, so that no place has to be looked at twice. */
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

/** What a statement may begin with. */
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
