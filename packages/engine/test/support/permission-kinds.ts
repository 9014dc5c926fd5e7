/**
 * Kinds of requests: what generated requests are counted by, so that none is missing unnoticed.
 */

import type { FuzzRequest } from "./permission-fuzz.ts";

/** What a statement is made of, by its words. */
const PARTS: readonly (readonly [kind: string, words: RegExp])[] = [
  ["SELECT", /^SELECT/],
  ["WHERE", /^SELECT.* WHERE /],
  ["INNER JOIN", /(?<!LEFT|OUTER|RIGHT) JOIN /],
  ["LEFT JOIN", / LEFT (OUTER )?JOIN /],
  ["RIGHT JOIN", / RIGHT JOIN /],
  ["GROUP BY", / GROUP BY /],
  ["HAVING", / HAVING /],
  ["aggregates", /\b(sum|avg|min|max|median|array_agg)\(/],
  ["DISTINCT", /^SELECT DISTINCT /],
  ["ORDER BY", /^SELECT.* ORDER BY /],
  ["LIMIT", /^SELECT.* LIMIT /],
  ["OFFSET", /^SELECT.* OFFSET /],
  ["NULLS", / NULLS (FIRST|LAST)/],
  ["UNION", /^SELECT.* UNION SELECT /],
  ["UNION ALL", / UNION ALL SELECT /],
  ["a query in FROM", / FROM \( ?SELECT /],
  ["a joined query", / JOIN \( ?SELECT /],
  ["a query after IN", / IN \( ?SELECT /],
  ["EXISTS", /\bEXISTS \( ?SELECT /],
  ["UNNEST", / UNNEST /],
  ["UPDATE by a query", /^UPDATE .* SELECT /],
  ["DELETE by a query", /^DELETE .* SELECT /],
  ["count(*)", /count\(\*\)/],
  ["USE IDS", / USE IDS /],
  ["comprehension", /\b(ARRAY|OBJECT) .* FOR /],
  ["declared types", / COLLECTION \w+ \(/],
  ["INSERT", /^INSERT.*DOCUMENTS \(:given\) ( |ON ID CONFLICT FAIL)/],
  ["DO NOTHING", /^INSERT.* DO NOTHING/],
  ["DO UPDATE", /^INSERT.* DO UPDATE /],
  ["DO UPDATE_LOCAL_DIFF", /^INSERT.* DO UPDATE_LOCAL_DIFF/],
  ["DO MERGE", /^INSERT.* DO MERGE/],
  ["INSERT SELECT", /^INSERT.* SELECT /],
  ["INITIAL", /^INSERT.* INITIAL /],
  ["UPDATE", /^UPDATE .* SET /],
  ["APPLY", /^UPDATE .* APPLY /],
  ["UNSET", /^UPDATE .* UNSET /],
  ["DELETE", /^DELETE FROM /],
  ["EVICT", /^EVICT FROM /],
  ["TOMBSTONE", /^TOMBSTONE FROM /],
  ["INSERT RETURNING", /^INSERT .* RETURNING /],
  ["UPDATE RETURNING", /^UPDATE .* RETURNING /],
  ["DELETE RETURNING", /^(DELETE|EVICT|TOMBSTONE) .* RETURNING /],
  ["EXPLAIN", /^EXPLAIN /],
  ["PROFILE", /^PROFILE /],
  ["ADVISE", /^ADVISE /],
  ["SHOW", /^SHOW /],
  ["EXECUTE FUNCTION", /^EXECUTE FUNCTION /],
  ["system:collections", /system:collections/],
  ["system:all_collections", /system:all_collections/],
  ["system:indexes", /system:indexes/],
  ["system:system_info", /system:system_info/],
  ["system:request_history", /system:request_history/],
  ["system:active_requests", /system:active_requests/],
];

/** All kinds that requests are counted by. */
export const REQUEST_KINDS: readonly string[] = [
  ...PARTS.map(([kind]) => kind),
  "strict mode",
  "little memory",
  "asked find",
  "asked count",
  "asked findById",
  "asked attachment",
  "command upsert",
  "command update",
  "command remove",
];

export function kindsOf(request: FuzzRequest): string[] {
  if (request.kind === "write") return request.commands.map(({ method }) => `command ${method}`);
  if (request.kind !== "statement") return [`asked ${request.kind}`];
  const { statement, isStrict, isTight } = request;
  const kinds = PARTS.filter(([, words]) => words.test(statement)).map(([kind]) => kind);
  if (isStrict) kinds.push("strict mode");
  if (isTight) kinds.push("little memory");
  return kinds;
}
