/**
 * The slow obvious evaluator: LIKE, ILIKE and SIMILAR TO.
 */
import { unreachable } from "@bigpeer/protocol";
import type { LikeNode } from "../../../src/query/syntax/tree.ts";
import { type Datum, Failure, type Outcome } from "../../../src/query/value/datum.ts";

export function matchText(
  operator: LikeNode["operator"],
  text: Datum,
  pattern: Datum,
  escape: Datum,
): Outcome {
  if (text === undefined || pattern === undefined) return undefined;
  if (text === null || pattern === null) return null;
  if (typeof text !== "string" || typeof pattern !== "string") return undefined;
  const escapeWith = typeof escape === "string" ? escape : undefined;
  switch (operator) {
    case "like":
      return isLike(lettersOf(text), lettersOf(pattern), escapeWith);
    case "ilike":
      return isLike(lettersOf(text.toLowerCase()), lettersOf(pattern.toLowerCase()), escapeWith);
    case "similar":
      return isSimilar(text, pattern);
    default:
      return unreachable(operator);
  }
}

/** By code point. */
function lettersOf(text: string): string[] {
  return Array.from(text);
}

/** Character by character; `%` tries every length. */
function isLike(text: readonly string[], pattern: readonly string[], escape?: string): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === escape) return text[0] === rest[0] && isLike(text.slice(1), rest.slice(1), escape);
  if (first === "%")
    return text.some((_, i) => isLike(text.slice(i), rest, escape)) || isLike([], rest, escape);
  if (text.length === 0) return false;
  return (first === "_" || first === text[0]) && isLike(text.slice(1), rest, escape);
}

const PASSED_ON = "|()[]+*?{},^-";

function isSimilar(text: string, pattern: string): boolean | Failure {
  const source = lettersOf(pattern).map((letter) => {
    if (letter === "%") return ".*";
    if (letter === "_") return ".";
    return PASSED_ON.includes(letter) ? letter : letter.replace(/[.$\\/]/, "\\$&");
  });
  try {
    return new RegExp(`^(?:${source.join("")})$`, "su").test(text);
  } catch {
    return new Failure("an invalid pattern");
  }
}
