/**
 * regexp_like: whether a regular expression is found in a text.
 */

import type { Pattern, Platform } from "../../platform.ts";
import type { Run } from "../run/run.ts";
import { BoundedCache } from "../value/bounded-cache.ts";
import { type Datum, Failure, type Outcome } from "../value/datum.ts";
import type { FunctionSpec } from "./function.ts";

const NO_TEXT = new Failure("expected a text, a pattern and flags as strings");
const BAD_FLAGS = new Failure("expected flags out of i, c, m, s and x");
const BAD_PATTERN = new Failure(
  "expected a valid pattern, without look-around and back-references, and not too large",
);

/** What is kept is bounded by number only, so the length of each is bounded too. */
const PATTERN_LENGTH_MAX = 20_000;
const FLAGS_LENGTH_MAX = 16;

/** Enough for a pattern in each of a few columns; more distinct ones are made ready again. */
const PATTERNS_KEPT = 64;

/** A text counts as one step of work for so many characters. */
const STEP_LENGTH = 256;

/** What was made ready lately: without it a pattern in a field would be compiled for each row. */
const kept = new WeakMap<Platform, BoundedCache<string, Pattern | Failure>>();

export const PATTERN_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "regexp_like", arity: [2, 3], nulls: "pass", apply: regexpLike },
];

function regexpLike([text, source, flags = ""]: readonly Datum[], run: Run): Outcome {
  if (typeof text !== "string" || typeof source !== "string" || typeof flags !== "string") {
    return NO_TEXT;
  }
  if (source.length > PATTERN_LENGTH_MAX) return BAD_PATTERN;
  if (flags.length > FLAGS_LENGTH_MAX) return BAD_FLAGS;
  const pattern = patternOf(source, flags, run.platform);
  if (pattern instanceof Failure) return pattern;
  run.budget.step(Math.ceil(text.length / STEP_LENGTH));
  return pattern.isFoundIn(text);
}

function patternOf(source: string, flags: string, platform: Platform): Pattern | Failure {
  let cache = kept.get(platform);
  if (cache === undefined) {
    cache = new BoundedCache(PATTERNS_KEPT);
    kept.set(platform, cache);
  }
  // No flag is a slash, so that the key says where the flags end.
  return cache.obtain(`${flags}/${source}`, () => makePattern(source, flags, platform));
}

function makePattern(source: string, flags: string, platform: Platform): Pattern | Failure {
  const known = readFlags(flags);
  if (known === undefined) return BAD_FLAGS;
  const plain = known.isExtended ? withoutBlanks(source) : source;
  return platform.pattern(plain, known.flags) ?? BAD_PATTERN;
}

interface PatternFlags {
  /** As Platform.pattern takes them. */
  readonly flags: string;
  /** x: blanks and comments are there for the reader only. */
  readonly isExtended: boolean;
}

/** Of `i` and `c` the later one counts. */
function readFlags(text: string): PatternFlags | undefined {
  if (!/^[icmsx]*$/.test(text)) return undefined;
  const isCaseBlind = text.lastIndexOf("i") > text.lastIndexOf("c");
  const flags = [
    isCaseBlind ? "i" : "",
    text.includes("m") ? "m" : "",
    text.includes("s") ? "s" : "",
  ];
  return { flags: flags.join(""), isExtended: text.includes("x") };
}

/** What an x leaves as it is (a quotation, an escape), then what it leaves out. */
const EXTENDED_PART = /\\Q[^]*?(?:\\E|$)|\\[^]|#[^\n]*|\s+/g;

/** Blanks and comments count nowhere, not even in a class; escaped blanks do. */
function withoutBlanks(source: string): string {
  return source.replace(EXTENDED_PART, (part) => (part.startsWith("\\") ? part : ""));
}
