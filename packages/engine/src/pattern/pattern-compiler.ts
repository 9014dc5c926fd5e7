/**
 * Pattern compiler: compiles regular expressions of users, matched in time linear in the text (re2js).
 *
 * Linear is not necessarily fast: each character may cost as much as the pattern is large. So the
 * size of a pattern is bounded before it is compiled, and size times length before it is matched.
 * Compiled patterns are in one bounded cache; a Pattern holds only its source, so that keeping many
 * of them takes no memory.
 */

import { PeerError } from "@bigpeer/protocol";
import { RE2JS, RE2JSException } from "re2js";
import type { CountSteps, Pattern, PatternMatch } from "../platform.ts";
import { similarSource } from "./similar.ts";

export interface PatternLimits {
  /** Characters of a pattern. */
  readonly lengthMax: number;
  /** Instructions that a pattern compiles to. */
  readonly sizeMax: number;
  /** Instructions times characters of a text: cost limit of one match. */
  readonly workMax: number;
  /** Compiled patterns that are cached. Each may grow to about eight megabytes while it is used. */
  readonly keptMax: number;
}

/**
 * Compiling the largest pattern takes some 50 ms and cannot be interrupted. The largest match would
 * take a few seconds if it were not interrupted; usual ones take microseconds.
 */
export const PATTERN_LIMITS: PatternLimits = {
  lengthMax: 10_000,
  sizeMax: 6_000,
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

  /** Number of cached compiled patterns. */
  get keptCount(): number {
    return this.#kept.size;
  }

  /** See Platform.pattern. */
  compile(source: string, flags: string): Pattern | undefined {
    const key = `${flags}/${source}`;
    const make = (): Compiled | undefined => compilePattern(source, flags, this.#limits);
    if (this.#obtain(key, make) === undefined) return undefined;
    return {
      isFoundIn: (text, count) => {
        const compiled = this.#obtain(key, make);
        if (compiled === undefined) return false;
        return this.#match(key, compiled, text, count);
      },
      matchesIn: (text, count) => {
        const compiled = this.#obtain(key, make);
        return compiled === undefined ? [] : this.#matches(key, compiled, text, count);
      },
    };
  }

  #match(key: string, { expression, size }: Compiled, text: string, count: CountSteps): boolean {
    if (size * text.length > this.#limits.workMax) throw tooLarge(text);
    return this.#orForget(key, () => expression.test(countedText(text, size, count)));
  }

  /** An interrupted match leaves its expression in an unknown state: the cache drops it. */
  #orForget<T>(key: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  /** Each match may have read all the text after it, so many matches cost many times as much. */
  *#matches(
    key: string,
    { expression, size }: Compiled,
    text: string,
    count: CountSteps,
  ): Iterable<PatternMatch> {
    const { workMax } = this.#limits;
    if (size * text.length > workMax) throw tooLarge(text);
    const matcher = expression.matcher(countedText(text, size, count));
    let work = 0;
    while (this.#orForget(key, () => matcher.find())) {
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

/** Instructions times characters that are matched without interruption. */
const AT_ONCE_WORK = 256 * 1024;

/** Characters between two counts, and per step; instructions that count as one more step. */
const CHARACTERS_COUNTED = 64;
const CHARACTERS_PER_STEP = 64;
const SIZE_PER_STEP = 16;

/**
 * The text as the expression reads it, with reads counted. The library uses no other methods of a
 * text than these, and its string tag.
 */
class CountedText {
  readonly length: number;
  readonly #text: string;
  readonly #count: CountSteps;
  readonly #stepsPerCount: number;
  #reads = 0;

  constructor(text: string, size: number, count: CountSteps) {
    this.#text = text;
    this.length = text.length;
    this.#count = count;
    this.#stepsPerCount = (1 + size / SIZE_PER_STEP) * (CHARACTERS_COUNTED / CHARACTERS_PER_STEP);
  }

  get [Symbol.toStringTag](): string {
    return "String";
  }

  charCodeAt(at: number): number {
    if (++this.#reads % CHARACTERS_COUNTED === 0) this.#count(this.#stepsPerCount);
    return this.#text.charCodeAt(at);
  }

  indexOf(part: string, from: number): number {
    const found = this.#text.indexOf(part, from);
    const end = found < 0 ? this.length : found;
    this.#count(Math.max(0, end - from) / LENGTH_PER_STEP);
    return found;
  }

  substring(from: number, to: number): string {
    return this.#text.substring(from, to);
  }

  toString(): string {
    return this.#text;
  }
}

/** Characters that the host's indexOf searches in a step. */
const LENGTH_PER_STEP = 256;

function countedText(text: string, size: number, count: CountSteps): string {
  const work = size * text.length;
  if (work > AT_ONCE_WORK) return new CountedText(text, size, count) as unknown as string;
  count(((1 + size / SIZE_PER_STEP) * text.length) / CHARACTERS_PER_STEP);
  return text;
}

/** Cost limit of all matches in one text, as a multiple of that of one match. */
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
  limits: PatternLimits,
): Compiled | undefined {
  const escape = /^~(\d*)$/.exec(flags)?.[1];
  if (escape === undefined) return compileExpression(source, flags, limits);
  const expression = similarSource(
    source,
    escape === "" ? undefined : String.fromCodePoint(+escape),
  );
  return expression === undefined ? undefined : compileExpression(expression, "s", limits);
}

function compileExpression(
  source: string,
  flags: string,
  { lengthMax, sizeMax }: PatternLimits,
): Compiled | undefined {
  // Repetitions compile to copies, so a short pattern can be huge: its size is estimated before.
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

/** Instructions of a Unicode class (`\p{…}`), which is a list of ranges. */
const UNICODE_CLASS_SIZE = 50;

/** The parts of a pattern: at each position the first of these that matches. */
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

/** Estimated number of instructions that a pattern compiles to, valid or not. */
export function estimateSize(source: string): number {
  /** Sizes of the open groups, outermost first. */
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
