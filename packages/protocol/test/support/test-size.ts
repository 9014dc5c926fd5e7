/**
 * Size of generated tests: how many cases of each there are. `npm test` takes a part of them,
 * `npm run test:full` all. The assertions are the same.
 */
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    readonly isFullSize: boolean;
  }
}

/** Runs of a property that are enough for a first look. */
const RUNS_MIN = 50;

/** A test of seconds, such as one that starts several servers, is `test.runIf(isFullSize)`. */
export const isFullSize = inject("isFullSize");

/** One of two sizes. */
export function sized<T>(small: T, full: T): T {
  return isFullSize ? full : small;
}

/** Runs of a property: all of them at full size, otherwise a twentieth, but not fewer than are enough. */
export function runs(full: number): number {
  return sized(Math.min(full, Math.max(RUNS_MIN, Math.ceil(full / 20))), full);
}

/** Cases of a list: all of them at full size, otherwise the first of each so many. */
export function oneOf<T>(each: number, all: readonly T[]): T[] {
  return all.filter((_, place) => isFullSize || place % each === 0);
}

/**
 * Generated histories, each of which takes long: all of them at full size, otherwise one of sixteen,
 * but not fewer than four.
 */
export function histories(full: number): number {
  return sized(Math.max(Math.min(full, 4), Math.ceil(full / 16)), full);
}
