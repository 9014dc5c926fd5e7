/**
 * Regular expression functions: regexp_like tests whether a pattern matches in a text,
 * regexp_replace replaces all matches.
 */

import type { Pattern } from "../../platform.ts";
import type { Run } from "../frame/frame.ts";
import { spendEach } from "../value/cost-meter.ts";
import { type Datum, Failure, type Outcome } from "../value/datum.ts";
import { TEXT_LENGTH_MAX, TEXT_TOO_LONG } from "../value/size-bound.ts";
import {
  BAD_PATTERN,
  eachMatch,
  makePattern,
  matchPattern,
  PATTERN_LENGTH_MAX,
} from "../value/user-pattern.ts";
import type { FunctionSpec } from "./function.ts";
import { chargeCopy, chargeGrowth } from "./growth.ts";

const NO_TEXT = new Failure("expected a text, a pattern and flags as strings");
const BAD_FLAGS = new Failure("expected flags out of i, c, m, s and x");
const FLAGS_LENGTH_MAX = 16;

/** Maximum length of a pattern with its blanks and comments. */
const EXTENDED_LENGTH_MAX: number = 4 * PATTERN_LENGTH_MAX;

export const REGEXP_FUNCTIONS: readonly FunctionSpec[] = [
  { name: "regexp_like", arity: [2, 3], nulls: "pass", apply: regexpLike },
  { name: "regexp_replace", arity: [3, 4], nulls: "pass", apply: regexpReplace },
];

function regexpLike([text, source, flags = ""]: readonly Datum[], run: Run): Outcome {
  if (typeof text !== "string") return NO_TEXT;
  const pattern = patternOf(source, flags, run);
  return pattern instanceof Failure ? pattern : matchPattern(pattern, text, run);
}

function patternOf(source: Datum, flags: Datum, run: Run): Pattern | Failure {
  if (typeof source !== "string" || typeof flags !== "string") return NO_TEXT;
  const known = flags.length > FLAGS_LENGTH_MAX ? undefined : readFlags(flags);
  if (known === undefined) return BAD_FLAGS;
  if (source.length > EXTENDED_LENGTH_MAX) return BAD_PATTERN;
  return makePattern(known.isExtended ? withoutBlanks(source) : source, known.flags, run);
}

/** Approximate bytes of one piece of the result. */
const PIECE_BYTES = 16;

/** Memory is charged in portions of this size. */
const KEPT_BYTES = 64 * 1024;

/** regexp_replace(text, pattern, replacement[, flags]): replaces every match, left to right. */
function regexpReplace([text, source, by, flags = ""]: readonly Datum[], run: Run): Outcome {
  if (typeof text !== "string" || typeof by !== "string") return NO_TEXT;
  const pattern = patternOf(source, flags, run);
  if (pattern instanceof Failure) return pattern;
  spendEach(4 * by.length);
  const replacement = readReplacement(by);
  const pieces: string[] = [];
  let length = text.length;
  let start = 0;
  let kept = 0;
  const failure = eachMatch(pattern, text, run, (match) => {
    // The result is too long already: keep nothing more.
    if (length > TEXT_LENGTH_MAX) return;
    kept += PIECE_BYTES * (replacement.length + 1);
    spendEach(4 * replacement.length);
    if (kept > KEPT_BYTES) {
      chargeGrowth(run, kept);
      kept = 0;
    }
    pieces.push(text.slice(start, match.start));
    for (const part of replacement) {
      const piece = typeof part === "string" ? part : (match.groups[part] ?? "");
      length += piece.length;
      pieces.push(piece);
    }
    start = match.end;
  });
  if (failure !== undefined) return failure;
  if (length > TEXT_LENGTH_MAX) return TEXT_TOO_LONG;
  pieces.push(text.slice(start));
  chargeCopy(run, 2 * length);
  return pieces.join("");
}

/** Parses text and groups: `$1` to `$9`, `$0` for the match; `$$` or a lone `$` is a `$`. */
function readReplacement(by: string): (string | number)[] {
  const parts: (string | number)[] = [];
  for (const part of by.match(/\$[0-9$]|[^$]+|\$/g) ?? []) {
    const isGroup = part.length === 2 && part.startsWith("$") && part !== "$$";
    if (isGroup) parts.push(Number(part[1]));
    else parts.push(part === "$$" ? "$" : part);
  }
  return parts;
}

interface PatternFlags {
  /** Flags for Platform.pattern. */
  readonly flags: string;
  /** Flag x: blanks and comments in the pattern are ignored. */
  readonly isExtended: boolean;
}

/** Parses flags; of `i` and `c` the later one applies. */
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

/** Parts that flag x keeps (quotations, escapes), then parts that it removes. */
const EXTENDED_PART = /\\Q[^]*?(?:\\E|$)|\\[^]|#[^\n]*|\s+/g;

/** Removes blanks and comments, also inside a class; escaped blanks stay. */
function withoutBlanks(source: string): string {
  return source.replace(EXTENDED_PART, (part) => (part.startsWith("\\") ? part : ""));
}
