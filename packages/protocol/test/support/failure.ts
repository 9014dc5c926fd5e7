/**
 * What a call throws, for tests that look at more of an error than its message.
 */

import { PeerError } from "../../src/error.ts";

/** The PeerError that a call throws; anything else that it throws, or nothing, is a failure. */
export function failureOf(call: () => unknown): PeerError {
  try {
    call();
  } catch (error) {
    if (error instanceof PeerError) return error;
    throw error;
  }
  throw new Error("expected a PeerError, nothing was thrown");
}

/** The code of that error, or "nothing thrown". */
export function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof PeerError) return error.code;
    throw error;
  }
  return "nothing thrown";
}
