/**
 * Size limits of computed values: the failures of text, binary, arrays and objects that are too
 * large.
 */

import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import { Failure, isDatumArray, type Outcome } from "./datum.ts";

/** Maximum characters of a text during evaluation. */
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

/** Failure if a result is too large; the code that makes an object checks its size. */
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
