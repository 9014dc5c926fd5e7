/**
 * Functions of the statement language without a statement: one call as an expression would make it.
 */

import { Budget } from "../../src/query/frame/budget.ts";
import type { Run } from "../../src/query/frame/frame.ts";
import { findFunction } from "../../src/query/functions/table.ts";
import { type Datum, Failure, MISSING, type Outcome } from "../../src/query/value/datum.ts";
import { START_MS, testPlatform } from "./test-platform.ts";

export interface RunOptions {
  readonly bytesMax?: number;
  readonly timeMsMax?: number;
  /** Milliseconds that pass at each look at the clock. */
  readonly msPerLook?: number;
}

export function testRun({
  bytesMax = 2 ** 24,
  timeMsMax = 1000,
  msPerLook = 0,
}: RunOptions = {}): Run {
  let elapsedMs = 0;
  const elapsed = (): number => {
    elapsedMs += msPerLook;
    return elapsedMs;
  };
  return {
    args: {},
    platform: testPlatform(),
    budget: new Budget({ elapsed, timeMsMax, bytesMax }),
    request: { id: "request", appId: "app", startMs: START_MS },
  };
}

/** Null, MISSING and failures among the arguments are treated as the function says. */
export function callFunction(
  name: string,
  args: readonly Outcome[],
  run: Run = testRun(),
): Outcome {
  const spec = findFunction(name);
  if (spec === undefined) throw new Error(`expected a function, found ${name}`);
  const failure = args.find((arg) => arg instanceof Failure);
  if (failure !== undefined) return failure;
  if (spec.nulls === "pass" && args.includes(MISSING)) return MISSING;
  if (spec.nulls === "pass" && args.includes(null)) return null;
  return spec.apply(args as readonly Datum[], run);
}

/** The result of a call with plain arguments. */
export function call(name: string, ...args: readonly Outcome[]): Outcome {
  return callFunction(name, args);
}

/** Why a call fails; undefined when it does not. */
export function reasonOf(outcome: Outcome): string | undefined {
  return outcome instanceof Failure ? outcome.reason : undefined;
}
