/**
 * Placer: gives failures their place in the statement.
 */

import { Failure, type Outcome } from "../value/datum.ts";

/** Gives a Failure that a function made the place of its call; one object for each reason. */
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
