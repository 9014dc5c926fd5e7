/**
 * Functions of the statement language without a statement: one call as an expression would make it.
 */

import { compile } from "../../src/query/compile/expression.ts";
import { Budget } from "../../src/query/frame/budget.ts";
import type { Run } from "../../src/query/frame/frame.ts";
import type { Expression } from "../../src/query/syntax/tree.ts";
import { Failure, type Outcome } from "../../src/query/value/datum.ts";
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

/** A call as a statement makes it: what null, MISSING and failures do is up to the engine. */
export function callFunction(
  name: string,
  args: readonly Outcome[],
  run: Run = testRun(),
): Outcome {
  const slots = args.map(
    (_, slot): Expression => ({ kind: "slot", slot, holds: "value", name: "", at: 0 }),
  );
  return compile({ kind: "call", name, args: slots, at: 0 })({ run, slots: [...args] });
}

/** The result of a call with plain arguments. */
export function call(name: string, ...args: readonly Outcome[]): Outcome {
  return callFunction(name, args);
}

/** Why a call fails; undefined when it does not. */
export function reasonOf(outcome: Outcome): string | undefined {
  return outcome instanceof Failure ? outcome.reason : undefined;
}
