/**
 * A platform for tests: time that the test sets, random bytes from a seed, the real SHA-256, the
 * real clock for what has passed, the real patterns without their limits.
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { RE2JS } from "re2js";
import { PLAN_EXPLAINER } from "../../src/explain/index.ts";
import { similarSource } from "../../src/pattern/similar.ts";
import type { Pattern, PatternMatch, Platform } from "../../src/platform.ts";
import type { PlanExplainer } from "../../src/query/run/plan-explainer.ts";
import { PATTERN_LENGTH_MAX } from "../../src/query/value/user-pattern.ts";

/** 2026-01-01T00:00:00Z */
export const START_MS = 1_767_225_600_000;

export interface TestPlatform extends Platform {
  nowMs: number;
}

export function testPlatform(seed = 1): TestPlatform {
  let state = seed;
  const platform = {
    nowMs: START_MS,
    now: (): number => platform.nowMs,
    elapsed: (): number => performance.now(),
    pause: (): Promise<void> => setImmediate(),
    random: (size: number): Uint8Array => {
      const bytes = new Uint8Array(size);
      for (let i = 0; i < size; i++) {
        // Numerical Recipes' linear congruential generator; its high bits are good enough here.
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        bytes[i] = state >>> 24;
      }
      return bytes;
    },
    sha256: (bytes: Uint8Array): Uint8Array =>
      new Uint8Array(createHash("sha256").update(bytes).digest()),
    pattern: compilePattern,
    explainer: (): PlanExplainer => PLAN_EXPLAINER,
  };
  return platform;
}

const MS_PER_LOOK = 0.001;

/** A clock that advances when it is read. */
export function countedClock(): () => number {
  let looks = 0;
  return () => ++looks * MS_PER_LOOK;
}

const CHARACTERS_PER_STEP = 64;

function compilePattern(given: string, givenFlags: string): Pattern | undefined {
  const escape = /^~(\d*)$/.exec(givenFlags)?.[1];
  const [source, flags] =
    escape === undefined ? [given, givenFlags] : [translated(given, escape), "s"];
  if (source === undefined) return undefined;
  try {
    const expression = RE2JS.compile(flags === "" ? source : `(?${flags})${source}`);
    return {
      isFoundIn: (text, count) => {
        count(text.length / CHARACTERS_PER_STEP);
        return expression.test(text);
      },
      matchesIn: (text, count) => {
        count(text.length / CHARACTERS_PER_STEP);
        return allMatches(expression, text);
      },
    };
  } catch {
    return undefined;
  }
}

function translated(pattern: string, escape: string): string | undefined {
  const sign = escape === "" ? undefined : String.fromCodePoint(Number(escape));
  const source = similarSource(pattern, sign);
  // As every host has a bound for it.
  return source !== undefined && source.length > PATTERN_LENGTH_MAX ? undefined : source;
}

function* allMatches(expression: RE2JS, text: string): Iterable<PatternMatch> {
  const matcher = expression.matcher(text);
  while (matcher.find()) {
    const count = matcher.groupCount() + 1;
    const groups = Array.from({ length: count }, (_, i) => matcher.group(i) ?? undefined);
    yield { start: matcher.start(), end: matcher.end(), groups };
  }
}

/** A seeded source of choices for hand-written random walks. */
export interface Random {
  readonly seed: number;
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

export function seededRandom(seed: number): Random {
  // Mulberry32.
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    seed,
    below,
    chance: (probability) => next() < probability,
    pick: <T>(choices: readonly T[]): T => {
      const choice = choices[below(choices.length)];
      if (choice === undefined) throw new Error("expected something to choose from");
      return choice;
    },
  };
}
