/**
 * LIKE, ILIKE and SIMILAR TO as closures. A pattern that is written in the statement is made ready
 * once; one that comes from a parameter or a field is made ready when it changes.
 */

import type { Evaluate, Run } from "../run/run.ts";
import type { Expression, LikeNode } from "../syntax/tree.ts";
import { type Datum, Failure, MISSING, type Outcome } from "../value/datum.ts";
import { compileLike } from "../value/like.ts";
import { similarSource } from "../value/similar.ts";

type Matcher = (text: string) => boolean;

export function compileLikeNode(node: LikeNode, compile: (node: Expression) => Evaluate): Evaluate {
  const value = compile(node.operand);
  const pattern = compile(node.pattern);
  const escape = node.escape === undefined ? undefined : compile(node.escape);
  const matcherOf = lastMatcher(node);
  const { isNegated } = node;
  return (frame) => {
    const text = value(frame);
    if (text instanceof Failure) return text;
    const source = pattern(frame);
    if (source instanceof Failure) return source;
    const sign = escape?.(frame);
    if (sign instanceof Failure) return sign;
    if (typeof text !== "string" || typeof source !== "string") return withoutText(text, source);
    const matcher = matcherOf(source, sign, frame.run);
    return matcher instanceof Failure ? matcher : matcher(text) !== isNegated;
  };
}

/** What the result is when there is nothing to match. */
function withoutText(text: Datum, source: Datum): Outcome {
  if (text === MISSING || source === MISSING) return MISSING;
  return text === null || source === null ? null : MISSING;
}

/** Keeps the last matcher: in nearly all statements there is only one. */
function lastMatcher(
  node: LikeNode,
): (source: string, escape: Datum, run: Run) => Matcher | Failure {
  const badPattern = new Failure("expected a valid pattern", node.at);
  const badEscape = new Failure("expected one character after ESCAPE", node.at);
  let last: { source: string; escape: Datum; matcher: Matcher | Failure } | undefined;
  return (source, escape, run) => {
    if (last !== undefined && last.source === source && last.escape === escape) return last.matcher;
    const matcher = isEscape(escape)
      ? (makeMatcher(node, source, escape, run) ?? badPattern)
      : badEscape;
    last = { source, escape, matcher };
    return matcher;
  };
}

function isEscape(escape: Datum): escape is string | undefined {
  if (escape === MISSING) return true;
  return typeof escape === "string" && Array.from(escape).length === 1;
}

function makeMatcher(
  { operator }: LikeNode,
  source: string,
  escape: string | undefined,
  run: Run,
): Matcher | undefined {
  if (operator !== "similar") {
    const isCaseBlind = operator === "ilike";
    return compileLike(source, escape === undefined ? { isCaseBlind } : { isCaseBlind, escape });
  }
  const pattern = run.platform.pattern(similarSource(source, escape), "s");
  return pattern === undefined ? undefined : (text) => pattern.isFoundIn(text);
}
