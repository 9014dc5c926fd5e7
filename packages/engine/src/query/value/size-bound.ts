/**
 * The bound on values that an expression makes, and the failures of those that would be larger.
 */

import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import { Failure, isDatumArray, type Outcome } from "./datum.ts";

/** Characters of one text while it is evaluated. */
export const TEXT_LENGTH_MAX: number = COMPUTED_SIZE_MAX;
export const TEXT_TOO_LONG: Failure = new Failure(
  `expected text of at most ${COMPUTED_SIZE_MAX} characters`,
);
export const BINARY_TOO_LONG: Failure = new Failure(
  `expected binary of at most ${COMPUTED_SIZE_MAX} bytes`,
);
export const ARRAY_TOO_LONG: Failure = new Failure(
  `expected an array of at most ${COMPUTED_SIZE_MAX} elements`,
);
export const OBJECT_TOO_LARGE: Failure = new Failure(
  `expected an object of at most ${COMPUTED_SIZE_MAX} fields`,
);

/** The failure that a result is, whatever made it; an object is counted by who makes it. */
export function tooLarge(outcome: Outcome): Failure | undefined {
  if (typeof outcome === "string") {
    return outcome.length > COMPUTED_SIZE_MAX ? TEXT_TOO_LONG : undefined;
  }
  if (isDatumArray(outcome)) {
    return outcome.length > COMPUTED_SIZE_MAX ? ARRAY_TOO_LONG : undefined;
  }
  if (outcome instanceof Uint8Array && outcome.length > COMPUTED_SIZE_MAX) return BINARY_TOO_LONG;
  return undefined;
}
