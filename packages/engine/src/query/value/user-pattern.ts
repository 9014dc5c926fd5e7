/**
 * User patterns: compiles and caches regular expressions of users, for SIMILAR TO and the regexp
 * functions, and matches them under the budget of the statement.
 */

import type { Pattern, PatternMatch, Platform } from "../../platform.ts";
import { BoundedCache } from "../bounded-cache.ts";
import { Failure, type Outcome } from "./datum.ts";

export const BAD_PATTERN: Failure = new Failure(
  "expected a valid pattern, without look-around and back-references, and not too large",
);
const TEXT_TOO_LONG = new Failure("expected a smaller pattern for a text of this length");

/** Cost of each match, in steps, without the search for it. */
const MATCH_STEPS = 1;

interface Matching {
  readonly platform: Platform;
  readonly budget: { step(steps: number): void };
}

/** Maximum length of a pattern: the cache limits only their number. */
export const PATTERN_LENGTH_MAX = 20_000;
const PATTERNS_KEPT = 64;

/** Recent patterns, also invalid ones: a pattern in a field comes again with each row. */
const kept = new WeakMap<Platform, BoundedCache<string, Pattern | Failure>>();

/** Compiles a pattern, with a cache; `flags` as for Platform.pattern. */
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
  // No flag is a slash, so the key is unambiguous.
  return cache.obtain(`${flags}/${source}`, () => {
    budget.step(MAKING_STEPS + source.length);
    return platform.pattern(source, flags) ?? BAD_PATTERN;
  });
}

/** Cost of compiling a pattern, in steps, without its length. */
const MAKING_STEPS = 64;

export function matchPattern(pattern: Pattern, text: string, { budget }: Matching): Outcome {
  return bounded(() => pattern.isFoundIn(text, (steps) => budget.step(steps)));
}

/** Calls `visit` for all matches from left to right; returns a failure, if any. */
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

/** Turns a size error into a failure: one document with a long text must not end a scan. */
function bounded<T>(work: () => T): T | Failure {
  try {
    return work();
  } catch (error) {
    // Not by its class: a host may bundle the code for patterns apart, with a class of its own.
    const { code } = error as { readonly code?: unknown };
    if (error instanceof Error && code === "query.too_large") return TEXT_TOO_LONG;
    throw error;
  }
}
