/**
 * Patterns from users, matched in time linear in the text (re2js).
 *
 * Linear is not yet quick: each character may cost as much as the pattern is large. So the size of a
 * pattern is bounded before it is compiled, and size times length before it is matched. What is
 * compiled is kept in one bounded place; a Pattern only remembers its source, so that whoever keeps
 * many of them keeps no memory.
 */

import type { Pattern, PatternMatch } from "@bigpeer/engine";
import { PeerError } from "@bigpeer/protocol";
import { RE2JS, RE2JSException } from "re2js";

export interface PatternLimits {
  /** Characters of a pattern. */
  readonly lengthMax: number;
  /** Instructions that a pattern compiles to. */
  readonly sizeMax: number;
  /** Instructions times characters of a text: what one match may cost. */
  readonly workMax: number;
  /** Compiled patterns that are kept. Each may grow to about eight megabytes while it is used. */
  readonly keptMax: number;
}

/** The largest match that these allow takes a few seconds; usual ones take microseconds. */
export const PATTERN_LIMITS: PatternLimits = {
  lengthMax: 10_000,
  sizeMax: 10_000,
  workMax: 250_000_000,
  keptMax: 32,
};

interface Compiled {
  readonly expression: RE2JS;
  readonly size: number;
}

export class PatternCompiler {
  readonly #limits: PatternLimits;
  /** By flags and source, in the order of use, the latest last. */
  readonly #kept = new Map<string, Compiled>();

  constructor(limits: PatternLimits = PATTERN_LIMITS) {
    this.#limits = limits;
  }

  /** How many compiled patterns are kept now. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** See Platform.pattern. */
  compile(source: string, flags: string): Pattern | undefined {
    const key = `${flags}/${source}`;
    const make = (): Compiled | undefined => compilePattern(source, flags, this.#limits);
    if (this.#obtain(key, make) === undefined) return undefined;
    return {
      isFoundIn: (text) => {
        const compiled = this.#obtain(key, make);
        return compiled !== undefined && this.#match(compiled, text);
      },
      matchesIn: (text) => {
        const compiled = this.#obtain(key, make);
        return compiled === undefined ? [] : this.#matches(compiled, text);
      },
    };
  }

  #match({ expression, size }: Compiled, text: string): boolean {
    if (size * text.length <= this.#limits.workMax) return expression.test(text);
    throw tooLarge(text);
  }

  /** Each match may have looked at all that follows it, so that many of them cost as many matches. */
  *#matches({ expression, size }: Compiled, text: string): Iterable<PatternMatch> {
    const { workMax } = this.#limits;
    if (size * text.length > workMax) throw tooLarge(text);
    const matcher = expression.matcher(text);
    let work = 0;
    while (matcher.find()) {
      const [start, end] = [matcher.start(), matcher.end()];
      work += size * (text.length - start);
      if (work > MATCHES_WORK * workMax) throw tooLarge(text);
      yield { start, end, groups: groupsOf(matcher) };
    }
  }

  #obtain(key: string, make: () => Compiled | undefined): Compiled | undefined {
    const compiled = this.#kept.get(key) ?? make();
    if (compiled === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, compiled);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#limits.keptMax) break;
      this.#kept.delete(oldest);
    }
    return compiled;
  }
}

/** All matches of one text may cost so many times what one of them may. */
const MATCHES_WORK = 16;

function groupsOf(matcher: ReturnType<RE2JS["matcher"]>): (string | undefined)[] {
  const groups: (string | undefined)[] = [];
  for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? undefined);
  return groups;
}

function tooLarge({ length }: string): PeerError {
  const message = `expected a smaller pattern for a text of ${length} characters`;
  return new PeerError("query.too_large", message);
}

function compilePattern(
  source: string,
  flags: string,
  { lengthMax, sizeMax }: PatternLimits,
): Compiled | undefined {
  // Repetitions are compiled as copies, so a short pattern can be huge; that must be known before.
  if (source.length > lengthMax || estimateSize(source) > sizeMax) return undefined;
  try {
    const expression = RE2JS.compile(source, flagBits(flags));
    const size = expression.programSize();
    return size > sizeMax ? undefined : { expression, size };
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

function flagBits(flags: string): number {
  const caseBits = flags.includes("i") ? RE2JS.CASE_INSENSITIVE : 0;
  const lineBits = flags.includes("m") ? RE2JS.MULTILINE : 0;
  const dotBits = flags.includes("s") ? RE2JS.DOTALL : 0;
  return caseBits | lineBits | dotBits;
}

/** A class of Unicode (`\p{…}`) is a list of ranges as long as so many instructions. */
const UNICODE_CLASS_SIZE = 50;

/** What a pattern consists of: at each place the first of these that fits. */
const PARTS = [
  /(?<opens>\()/,
  /(?<closes>\))/,
  /\{(?<low>\d{1,5})(?:,(?<high>\d{0,5}))?\}/,
  /(?<unicode>\\p)/,
  /\\x\{[\da-f]{1,8}\}/,
  /\\[^]/,
  /\[\^?\]?(?:[^\]\\]|\\[^])*(?:\]|$)/,
  /[^]/,
];
const PART = new RegExp(PARTS.map(({ source }) => source).join("|"), "gi");

/** About how many instructions a pattern compiles to, valid or not. */
export function estimateSize(source: string): number {
  /** Sizes of the groups that are open, outermost first. */
  const open: number[] = [];
  let total = 0;
  let last = 0;
  for (const { 0: part, groups = {} } of source.matchAll(PART)) {
    const { opens, closes, low, high, unicode } = groups;
    if (opens !== undefined) {
      open.push(total);
      total = 0;
      last = 0;
    } else if (closes !== undefined) {
      last = total + 2;
      total = (open.pop() ?? 0) + last;
    } else if (low !== undefined) {
      const count = Math.max(Number(low), Number(high ?? 0));
      // An optional copy also takes an instruction that skips it.
      total += last * count + count;
      last += last * count + count;
    } else {
      last = unicode === undefined ? 1 + classSize(part) : UNICODE_CLASS_SIZE;
      total += last;
    }
  }
  return open.reduce((sum, size) => sum + size, total);
}

function classSize(part: string): number {
  if (!part.startsWith("[")) return 0;
  return part.split(/\\p/i).length * UNICODE_CLASS_SIZE - UNICODE_CLASS_SIZE + part.length / 8;
}
