/**
 * Kinds of questions that an index could answer: what generated ones are counted by, so that none is
 * missing unnoticed.
 */

import type { Asked } from "./index-script.ts";

/** What a statement is made of, by its words. */
const PARTS: readonly (readonly [kind: string, words: RegExp])[] = [
  ["equality", / [kbsan] = /],
  ["a range", / [kbsan] (<|<=|>|>=) /],
  ["!=", / != /],
  ["BETWEEN", / BETWEEN /],
  ["NOT BETWEEN", / NOT BETWEEN /],
  ["IN a list", / IN \( [^S]/],
  ["NOT IN", / NOT IN /],
  ["IN a parameter", / IN :/],
  ["LIKE a beginning", / LIKE '[a-z0-9]+%'/],
  ["LIKE an end", / LIKE '%a'/],
  ["LIKE with ESCAPE", / ESCAPE /],
  ["LIKE a parameter", / LIKE :/],
  ["IS NULL", / IS NULL/],
  ["IS NOT NULL", / IS NOT NULL/],
  ["IS MISSING", / IS MISSING/],
  ["IS NOT MISSING", / IS NOT MISSING/],
  ["a constant on the left", /\( (\d|'|:)\S* (=|<|<=|>|>=) /],
  ["AND", / AND /],
  ["OR", / OR /],
  ["NOT", /\( NOT /],
  ["null", / null /],
  ["missing", / missing /],
  ["a parameter that is null", /:none/],
  ["long text", /:long/],
  ["a large number", /:huge/],
  ["binary", /:bytes/],
  ["a zero in text", /:zero/],
  ["a computed constant", /abs\(-1\)|1 \+ 1|:number \+ 1|'a' \|\| 'b'/],
  ["a constant that fails", /1 \/ 0|'a' \+ 1/],
  ["what fails for some", /upper\((x\.|y\.)?[a-z.]+\) = 'A'/],
  ["a nested path", /(o\.p|o\.q\.r|tags\.x\.y|place\.row)/],
  ["part of an id", /_id\.u/],
  ["all columns", /^SELECT \*/],
  ["the id alone", /^SELECT (x\.)?_id /],
  ["one column", /^SELECT (x\.)?[a-z.]+ AS c1 FROM/],
  ["ORDER BY", /^SELECT.* ORDER BY /],
  ["ORDER BY several", / ORDER BY [^,]*, /],
  ["ORDER BY DESC", / ORDER BY .*DESC/],
  ["NULLS FIRST", / NULLS FIRST/],
  ["NULLS LAST", / NULLS LAST/],
  ["ORDER BY with LIMIT", / ORDER BY .* LIMIT /],
  ["ORDER BY after equality", / WHERE (x\.)?k = 1 ORDER BY /],
  ["LIMIT 0", / LIMIT 0/],
  ["LIMIT 1", / LIMIT 1( |$)/],
  ["OFFSET", / OFFSET /],
  ["OFFSET beyond the end", / OFFSET 500/],
  ["LIMIT of a parameter", / LIMIT :limit/],
  ["count(*)", /^SELECT count\(\*\) AS c1 FROM/],
  ["count of a field", /count\( /],
  ["min and max", /(min|max)\( /],
  ["sum", /sum\( /],
  ["array_agg", /array_agg\( /],
  ["GROUP BY", / GROUP BY /],
  ["DISTINCT", /^SELECT DISTINCT /],
  ["UNION", / UNION SELECT /],
  ["UNION ALL", / UNION ALL SELECT /],
  ["USE IDS", / USE IDS /],
  ["USE INDEX", / USE INDEX /],
  ["INNER JOIN", /(?<!LEFT|RIGHT|OUTER) JOIN /],
  ["LEFT JOIN", / LEFT JOIN /],
  ["RIGHT JOIN", / RIGHT JOIN /],
  ["a join by two keys", /ON y\.k = x\.k AND y\.b/],
  ["a join by an id", /ON (y\._id = x\.link|x\.link = y\._id)/],
  ["a query after IN", / IN \( SELECT /],
  ["EXISTS", /EXISTS \( SELECT /],
  ["a correlated query", /\( SELECT .* WHERE y\.[a-z.]+ = x\./],
  ["a query in FROM", / FROM \( SELECT /],
  ["UNNEST", / UNNEST /],
  ["declared types", / COLLECTION things \(/],
  ["UPDATE", /^UPDATE /],
  ["UPDATE of what it is found by", /^UPDATE things SET (k|b|s) = .* WHERE .*\b\1 /],
  ["UPDATE with LIMIT", /^UPDATE .* LIMIT /],
  ["a counter", /^UPDATE .* APPLY /],
  ["UNSET", /^UPDATE .* UNSET /],
  ["DELETE", /^DELETE /],
  ["EVICT", /^EVICT /],
  ["TOMBSTONE", /^TOMBSTONE /],
  ["RETURNING", / RETURNING /],
  ["INSERT", /^INSERT .* DOCUMENTS /],
  ["INSERT SELECT", /^INSERT .* SELECT /],
];

/** All kinds that questions are counted by. */
export const ASKED_KINDS: readonly string[] = [
  ...PARTS.map(([kind]) => kind),
  "strict mode",
  "find",
  "find with an order",
  "count",
  "command upsert",
  "command update",
  "command remove",
];

export function kindsOf(asked: Asked): string[] {
  switch (asked.kind) {
    case "statement": {
      const kinds = PARTS.filter(([, words]) => words.test(asked.statement)).map(([kind]) => kind);
      return asked.isStrict ? [...kinds, "strict mode"] : kinds;
    }
    case "write":
      return asked.commands.map(({ method }) => `command ${method}`);
    case "find":
      return asked.sort.length > 0 ? ["find", "find with an order"] : ["find"];
    default:
      return ["count"];
  }
}
