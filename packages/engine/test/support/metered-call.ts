/**
 * Calls under a meter: what the budget of a statement hears of them, beside the steps that the host
 * counts. Judges whether the work is told to the budget before or while it is done, not afterwards.
 */

import { countPieces } from "../../../protocol/test/support/step-count.ts";
import { Budget } from "../../src/query/frame/budget.ts";
import type { Run } from "../../src/query/frame/frame.ts";
import { underMeter } from "../../src/query/value/cost-meter.ts";
import { type Datum, Failure, isDatumArray, isDatumObject } from "../../src/query/value/datum.ts";
import { testRun } from "./function-call.ts";

export type MeteredCall = (run: Run) => unknown;

/** Steps of the host that one step of the budget may stand for. */
export const HOST_STEPS_PER_STEP = 1024;

/** Steps of the host that one call may take without a word. */
export const FREE_STEPS = 6_000;

/** A budget that says when the clock is looked at, and counts all memory that it hears of. */
class ReportedBudget extends Budget {
  /** Steps that were told before the step at hand. */
  before = 0;
  bytes = 0;

  override step(steps: number = 1): void {
    this.before = this.work;
    super.step(steps);
  }

  override borrow(bytes: number): void {
    this.bytes += bytes;
    super.borrow(bytes);
  }

  override take(bytes: number): void {
    this.bytes += bytes;
    super.take(bytes);
  }
}

/** `look` hears of each look at the clock with the steps that the budget knew of before. */
function reportedBudget(look: (steps: number) => void = () => {}): ReportedBudget {
  let budget: ReportedBudget | undefined;
  const elapsed = (): number => {
    if (budget !== undefined) look(budget.before);
    return 0;
  };
  budget = new ReportedBudget({ elapsed, timeMsMax: 1000, bytesMax: 2 ** 31 });
  return budget;
}

/** As a statement makes it; what it throws is a result, too. */
export function metered(call: MeteredCall, budget: Budget): unknown {
  const run = { ...testRun(), budget };
  try {
    return underMeter(budget, () => call(run));
  } catch (error) {
    return error;
  }
}

/** Bytes that the budget hears of, and the result. */
export function bytesOf(call: MeteredCall): { readonly bytes: number; readonly result: unknown } {
  const budget = reportedBudget();
  const result = metered(call, budget);
  return { bytes: budget.bytes, result };
}

/** Looks at the clock that are judged: what is honest so often is so all the time. */
const LOOKS_MAX = 3;

/** Whether the call has done more than the budget had heard of when it next looks at the clock. */
export function honestyFault(call: MeteredCall): string | undefined {
  const reported: number[] = [];
  const pieces = countPieces((cut) => {
    const budget = reportedBudget((steps) => {
      if (reported.length >= LOOKS_MAX) return;
      cut();
      reported.push(steps);
    });
    metered(call, budget);
    reported.push(budget.work);
  });
  let done = 0;
  for (const [i, steps] of pieces.entries()) {
    done += steps;
    const known = reported[i] ?? 0;
    if (done <= FREE_STEPS + HOST_STEPS_PER_STEP * known) continue;
    return `expected the budget to know of the work that is done, found ${Math.round(done)} steps when it knew of ${Math.round(known)}`;
  }
  return undefined;
}

export function meteredCalls(calls: readonly MeteredCall[]): void {
  for (const call of calls) metered(call, reportedBudget());
}

/** Bytes that a result may take without a word. */
const FREE_BYTES = 72 * 1024;

/** Whether a result takes more memory than the budget has heard of. */
export function memoryFault(call: MeteredCall): string | undefined {
  const { bytes, result } = bytesOf(call);
  if (result instanceof Error || result instanceof Failure) return undefined;
  const size = ownBytes(result as Datum);
  if (size <= FREE_BYTES + bytes) return undefined;
  return `expected the budget to know of the memory of the result, found ${size} bytes when it knew of ${bytes}`;
}

/** Rough bytes of what a call gives, without what stands in it. */
export function resultBytes(call: MeteredCall): number {
  const { result } = bytesOf(call);
  return result instanceof Error || result instanceof Failure ? 0 : ownBytes(result as Datum);
}

/** Rough bytes of a result without what stands in it: that may have been there before. */
function ownBytes(datum: Datum): number {
  if (typeof datum === "string") return 2 * datum.length;
  if (datum instanceof Uint8Array) return datum.length;
  if (isDatumArray(datum)) return 8 * datum.length;
  return isDatumObject(datum) ? 16 * Object.keys(datum).length : 0;
}
