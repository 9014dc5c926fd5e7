/**
 * A platform for tests: time that the test sets, random bytes from a seed, the real SHA-256, the
 * real clock for what has passed, the real patterns without their limits.
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { PLAN_EXPLAINER } from "../../src/explain/index.ts";
import { PatternCompiler } from "../../src/pattern/index.ts";
import type { Pattern, Platform } from "../../src/platform.ts";
import type { PlanExplainer } from "../../src/query/run/plan-explainer.ts";

/** 2026-01-01T00:00:00Z */
export const START_MS = 1_767_225_600_000;

const PATTERNS = new PatternCompiler({
  lengthMax: Infinity,
  sizeMax: Infinity,
  workMax: Infinity,
  keptMax: 64,
});

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
    pattern: (source: string, flags: string): Pattern | undefined =>
      PATTERNS.compile(source, flags),
    explainer: (): PlanExplainer => PLAN_EXPLAINER,
  };
  return platform;
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
