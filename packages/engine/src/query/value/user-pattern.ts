/**
 * Patterns that users wrote, for SIMILAR TO and the functions on regular expressions: made ready by the host, matched under the
 * budget of the statement.
 */

import { PeerError } from "@bigpeer/protocol";
import type { Pattern, PatternMatch, Platform } from "../../platform.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { Failure, type Outcome } from "./datum.ts";

export const BAD_PATTERN: Failure = new Failure(
  "expected a valid pattern, without look-around and back-references, and not too large",
);
const TEXT_TOO_LONG = new Failure("expected a smaller pattern for a text of this length");

/** What each match counts, beside the way to it. */
const MATCH_STEPS = 1;

interface Matching {
  readonly platform: Platform;
  readonly budget: { step(steps: number): void };
}

/** What is kept is bounded by number only, so the length of each is bounded too. */
export const PATTERN_LENGTH_MAX = 20_000;
const PATTERNS_KEPT = 64;

/** What was made ready lately, and what cannot be: a pattern in a field comes again with each row. */
const kept = new WeakMap<Platform, BoundedCache<string, Pattern | Failure>>();

/** `flags` as Platform.pattern takes them. */
export function makePattern(
  source: string,
  flags: string,
  { platform, budget }: Matching,
): Pattern | Failure {
  if (source.length > PATTERN_LENGTH_MAX) return BAD_PATTERN;
  let cache = kept.get(platform);
  if (cache === undefined) {
    cache = new BoundedCache(PATTERNS_KEPT);
    kept.set(platform, cache);
  }
  // No flag is a slash, so that the key says where the flags end.
  return cache.obtain(`${flags}/${source}`, () => {
    budget.step(MAKING_STEPS + source.length);
    return platform.pattern(source, flags) ?? BAD_PATTERN;
  });
}

/** What it counts to make a pattern ready, beside its length. */
const MAKING_STEPS = 64;

export function matchPattern(pattern: Pattern, text: string, { budget }: Matching): Outcome {
  return bounded(() => pattern.isFoundIn(text, (steps) => budget.step(steps)));
}

/** Calls `visit` for all matches from left to right; undefined when all went well. */
export function eachMatch(
  pattern: Pattern,
  text: string,
  { budget }: Matching,
  visit: (match: PatternMatch) => void,
): Failure | undefined {
  const count = (steps: number): void => budget.step(steps);
  const matches = bounded(() => pattern.matchesIn(text, count)[Symbol.iterator]());
  if (matches instanceof Failure) return matches;
  for (;;) {
    const next = bounded(() => matches.next());
    if (next instanceof Failure) return next;
    if (next.done === true) return undefined;
    budget.step(MATCH_STEPS);
    visit(next.value);
  }
}

/** One document with a long text is no reason to end a scan. */
function bounded<T>(work: () => T): T | Failure {
  try {
    return work();
  } catch (error) {
    if (error instanceof PeerError && error.code === "query.too_large") return TEXT_TOO_LONG;
    throw error;
  }
}
