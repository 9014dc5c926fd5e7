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
  const matches = (from: number, at: number): boolean => {
    const [letter, next] = [pattern[at], pattern[at + 1]];
    if (letter === undefined) return from === text.length;
    if (letter === escape) {
      return text[from] === next && matches(Math.min(from + 1, text.length), at + 2);
    }
    if (letter === "%") {
      for (let i = from; i <= text.length; i++) if (matches(i, at + 1)) return true;
      return false;
    }
    if (from === text.length) return false;
    return (letter === "_" || letter === text[from]) && matches(from + 1, at + 1);
  };
  return matches(0, 0);
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
