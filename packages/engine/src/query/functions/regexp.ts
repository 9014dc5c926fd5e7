/**
 * regexp_like: whether a regular expression is found in a text.
 */

import type { Run } from "../frame/frame.ts";
import { type Datum, Failure, type Outcome } from "../value/datum.ts";
import { makePattern, matchPattern } from "../value/user-pattern.ts";
import type { FunctionSpec } from "./function.ts";

const NO_TEXT = new Failure("expected a text, a pattern and flags as strings");
const BAD_FLAGS = new Failure("expected flags out of i, c, m, s and x");
const FLAGS_LENGTH_MAX = 16;

export const REGEXP_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "regexp_like", arity: [2, 3], nulls: "pass", apply: regexpLike },
];

function regexpLike([text, source, flags = ""]: readonly Datum[], run: Run): Outcome {
  if (typeof text !== "string" || typeof source !== "string" || typeof flags !== "string") {
    return NO_TEXT;
  }
  const known = flags.length > FLAGS_LENGTH_MAX ? undefined : readFlags(flags);
  if (known === undefined) return BAD_FLAGS;
  const pattern = makePattern(known.isExtended ? withoutBlanks(source) : source, known.flags, run);
  return pattern instanceof Failure ? pattern : matchPattern(pattern, text, run);
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
