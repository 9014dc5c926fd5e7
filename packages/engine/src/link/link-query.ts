/**
 * Link queries: turns the queries of a replication into subscriptions (S50).
 *
 * A replication has conditions for each collection. They are filters, as in permissions. Each
 * becomes a SELECT, as a small peer sends it, and is followed by itself.
 */

import { canonicalBytes } from "@bigpeer/protocol";
import type { Platform } from "../platform.ts";
import { located } from "../query/fault.ts";
import { parseFilter } from "../query/syntax/parse-filter.ts";
import { printExpression } from "../query/syntax/print.ts";
import { printPath } from "../query/syntax/print-path.ts";

/** The conditions of each collection. */
export type QueriesByCollection = { readonly [collection: string]: readonly string[] };

/** One condition of one collection. */
export interface LinkQuery {
  readonly collection: string;
  readonly condition: string;
}

/** Alias of the document if a field may have the name of the collection. */
const ALIAS = "the document";

/** Each query once, in the order of the configuration. */
export function listQueries(queries: QueriesByCollection): LinkQuery[] {
  return Object.keys(queries).flatMap((collection) => {
    const conditions = new Set(queries[collection]);
    return [...conditions].map((condition) => ({ collection, condition }));
  });
}

/** Text of the subscription. Throws a PeerError if the condition is not valid. */
export function statementOf({ collection, condition }: LinkQuery): string {
  const where = located(condition, () => printExpression(parseFilter(condition)));
  const name = printPath([collection]);
  // Otherwise the name would mean the document instead of its field.
  const from = where.includes(collection) ? `${name} AS ${printPath([ALIAS])}` : name;
  return where === "true" ? `SELECT * FROM ${name}` : `SELECT * FROM ${from} WHERE ${where}`;
}

/** Identifies a query as long as its text is the same. */
export function queryKey({ collection, condition }: LinkQuery, platform: Platform): string {
  const digest = platform.sha256(canonicalBytes([collection, condition]));
  let key = "";
  for (const byte of digest.subarray(0, 16)) key += byte.toString(16).padStart(2, "0");
  return key;
}
