/**
 * compileLikeNode: compiles LIKE, ILIKE and SIMILAR TO. The matcher of the last pattern is cached,
 * so a literal pattern is compiled once, and one from a parameter or a field when it changes.
 */

import type { Evaluate, Run } from "../frame/frame.ts";
import type { Expression, LikeNode } from "../syntax/tree.ts";
import { spendLength } from "../value/cost-meter.ts";
import { type Datum, Failure, MISSING, type Outcome } from "../value/datum.ts";
import { compileLike } from "../value/like.ts";
import { isOneCharacter } from "../value/text-length.ts";
import { BAD_PATTERN, makePattern, matchPattern } from "../value/user-pattern.ts";
import { placer } from "./placer.ts";

type Matcher = (text: string, run: Run) => Outcome;

export function compileLikeNode(node: LikeNode, compile: (node: Expression) => Evaluate): Evaluate {
  const value = compile(node.operand);
  const pattern = compile(node.pattern);
  const escape = node.escape === undefined ? undefined : compile(node.escape);
  const matcherOf = lastMatcher(node);
  const place = placer(node.at);
  const { isNegated } = node;
  return (frame) => {
    const text = value(frame);
    if (text instanceof Failure) return text;
    const source = pattern(frame);
    if (source instanceof Failure) return source;
    const sign = escape?.(frame);
    if (sign instanceof Failure) return sign;
    if (typeof text !== "string" || typeof source !== "string") return withoutText(text, source);
    spendLength(text.length + source.length);
    const matcher = matcherOf(source, sign, frame.run);
    const outcome = matcher instanceof Failure ? matcher : matcher(text, frame.run);
    return typeof outcome === "boolean" ? outcome !== isNegated : place(outcome);
  };
}

/** The result when an operand is not text. */
function withoutText(text: Datum, source: Datum): Outcome {
  if (text === MISSING || source === MISSING) return MISSING;
  return text === null || source === null ? null : MISSING;
}

/** Caches the last matcher: nearly all statements have only one. */
function lastMatcher(
  node: LikeNode,
): (source: string, escape: Datum, run: Run) => Matcher | Failure {
  let last: { source: string; escape: Datum; matcher: Matcher | Failure } | undefined;
  return (source, escape, run) => {
    if (last !== undefined && last.source === source && last.escape === escape) return last.matcher;
    const matcher = isEscape(escape) ? makeMatcher(node, source, escape, run) : BAD_ESCAPE;
    last = { source, escape, matcher };
    return matcher;
  };
}

const BAD_ESCAPE = new Failure("expected one character after ESCAPE");

function isEscape(escape: Datum): escape is string | undefined {
  if (escape === MISSING) return true;
  return typeof escape === "string" && isOneCharacter(escape);
}

function makeMatcher(
  { operator }: LikeNode,
  source: string,
  escape: string | undefined,
  run: Run,
): Matcher | Failure {
  if (operator === "similar") return similarMatcher(source, escape, run);
  const isCaseBlind = operator === "ilike";
  const options = escape === undefined ? { isCaseBlind } : { isCaseBlind, escape };
  return compileLike(source, options) ?? BAD_PATTERN;
}

function similarMatcher(source: string, escape: string | undefined, run: Run): Matcher | Failure {
  if (escape !== undefined && !isOneCharacter(escape)) return BAD_PATTERN;
  const pattern = makePattern(source, `~${escape?.codePointAt(0) ?? ""}`, run);
  if (pattern instanceof Failure) return pattern;
  return (text, current) => matchPattern(pattern, text, current);
}
