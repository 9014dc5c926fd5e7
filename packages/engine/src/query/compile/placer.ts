/**
 * placer: gives a Failure its position in the statement text.
 */

import { Failure, type Outcome } from "../value/datum.ts";

/** Adds the position of a call to a Failure without one; creates one object per reason. */
export function placer(at: number): (outcome: Outcome) => Outcome {
  const placed = new Map<string, Failure>();
  return (outcome) => {
    if (!(outcome instanceof Failure) || outcome.at !== undefined) return outcome;
    let failure = placed.get(outcome.reason);
    if (failure === undefined) {
      failure = new Failure(outcome.reason, at);
      placed.set(outcome.reason, failure);
    }
    return failure;
  };
}
