/**
 * Where we differ from the reference engine on purpose. Each has a reason, which stands in
 * docs/query-language.md as well, and a test of what differs: the statement and both outcomes.
 */
import { DOCUMENTS } from "./documents.mjs";

const has =
  (pattern) =>
  ({ text }) =>
    pattern.test(text);

export const DIFFERENCES = [
  {
    name: "more functions",
    reason: "There are more functions: `now`, `uuid`, `replace`, `regexp_replace`, `array_agg`.",
    isIt: has(/\b(?:now|uuid|replace|regexp_replace|array_agg)\(/),
  },
  {
    name: "more queries",
    reason:
      "UNION, queries in FROM, after IN and EXISTS, UNNEST, NULLS FIRST and LAST, and TOMBSTONE are understood.",
    isIt: has(/\bUNION\b|\bUNNEST\b|\(SELECT\b|\bNULLS\b|\bTOMBSTONE\b/),
  },
  {
    name: "whole floats as integers",
    reason:
      "A whole float is taken where an integer is asked for (`repeat('a', 2.0)`): JSON has one number, and clients send 2 for 2.0.",
    isIt: ({ text, ours, reference }) =>
      /\b(?:round|substr|substring|repeat|lpad|rpad|array_flatten|array_insert|array_replace|USE IDS)\b|LIMIT|\[/.test(
        text,
      ) && isMore(ours, reference),
  },
  {
    name: "equality of 1 and 1.0",
    reason: "1 and 1.0 are equal in simple CASE, `nullif` and `missingif` as they are under `=`.",
    isIt: has(/\b(?:nullif|missingif)\(|\(CASE (?!WHEN)/),
  },
  {
    name: "split",
    reason:
      "`split` keeps empty pieces at both ends, and splits into characters without one at the end.",
    isIt: has(/\bsplit\(/),
  },
  {
    name: "ANY goes on",
    reason: "An element whose condition has no value does not end ANY: the others are still asked.",
    isIt: has(/\(ANY\b/),
  },
  {
    name: "AND hides a failure",
    reason:
      "`false AND x` is false whatever `x` is, on either side; in the reference a failure on the left wins over false, and so does the word `missing`.",
    isIt: ({ text, ours, reference }) =>
      / AND /.test(text.replaceAll(/BETWEEN .*? AND /g, "")) && isMore(ours, reference),
  },
  {
    name: "SIMILAR TO the whole text",
    reason:
      "SIMILAR TO matches the whole text, also where the pattern has `|` outside of parentheses.",
    isIt: has(/SIMILAR TO/),
  },
  {
    name: "constant failure in OR",
    reason: "A constant that fails does not switch the filter off.",
    isIt: ({ rule, text, reference }) =>
      rule === "where" && / OR /.test(text) && reference.items?.length === DOCUMENTS.length,
  },
  {
    name: "groups of no rows",
    reason: "Where there are no rows, GROUP BY makes no groups.",
    isIt: ({ text, ours, reference }) =>
      /GROUP BY/.test(text) && ours.items?.length === 0 && reference.items?.length === 1,
  },
  {
    name: "HAVING",
    reason:
      "HAVING decides about groups also when it is of an aggregate that is projected as well.",
    isIt: has(/HAVING/),
  },
  {
    name: "join without index",
    reason: "A join needs no index.",
    isIt: ({ rule, reference }) => rule === "join" && reference.error !== undefined,
  },
  {
    name: "one-row time",
    reason: "The expressions of one row have 75 ms.",
    isIt: ({ ours }) => ours.error === "query.timeout",
  },
  {
    name: "UNSET below nothing",
    reason:
      "UNSET below a map that is not there, or below a scalar, writes nothing; the reference makes an empty map.",
    isIt: has(/UNSET \w+\.\w+/),
  },
  {
    name: "sign before *",
    reason: "A sign binds tighter than `*`: `-a * b` is `(-a) * b`.",
    isIt: has(/-\w+ \*/),
  },
  {
    name: "a key that fails",
    reason: "A row whose group key fails is in the group of MISSING: no row is lost.",
    isIt: ({ rule, text }) => rule === "group by" && /GROUP BY (?:i %|char_length)/.test(text),
  },
  {
    name: "more names",
    reason: "More keywords are names without backticks: `value`, `any`, `case` and others.",
    isIt: ({ rule, reference }) => rule === "keyword" && reference.error !== undefined,
  },
  {
    name: "local difference of an empty object",
    reason: "DO UPDATE_LOCAL_DIFF writes an empty object over a value of another type.",
    isIt: has(/\{\}.*DO UPDATE_LOCAL_DIFF/),
  },
  {
    name: "strict duplicates",
    reason: "An `_id` that INSERT … SELECT gives twice is refused, as it is for documents.",
    isIt: ({ text, ours }) => /INSERT INTO m SELECT/.test(text) && ours.error !== undefined,
  },
];

/** Ours gives a value in at least one row where the reference gives none. */
function isMore(ours, reference) {
  if (ours.error !== undefined) return false;
  if (reference.error !== undefined) return true;
  const others = new Map(reference.items?.map((row) => [row?.["_id"], row]));
  return (ours.items ?? []).some((row, i) => {
    const other = others.get(row?.["_id"]) ?? reference.items?.[i];
    return isObject(row) && isObject(other) && Object.keys(row).length > Object.keys(other).length;
  });
}

function isObject(row) {
  return typeof row === "object" && row !== null;
}

/** The difference that explains these outcomes. */
export function findDifference(given) {
  return DIFFERENCES.find(({ isIt }) => isIt(given));
}
