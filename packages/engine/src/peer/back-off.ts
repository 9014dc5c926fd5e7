/**
 * Back-off: exponential back-off with jitter before a peer reconnects (S8). The random number is
 * part of the state, so a session is a deterministic function of its inputs.
 */

import type { ErrorCode } from "@bigpeer/protocol";
import { type EndCode, isLinked, type PeerState } from "./session-state.ts";

/** The first wait, after the immediate retry. */
export const BACK_OFF_FIRST_MS = 500;
export const BACK_OFF_MOST_MS = 60_000;

/** A random wait between half the span and all of it, so that peers do not reconnect together. */
export function waitOf(failures: number, chance: number): number {
  if (failures === 0) return 0;
  const doublings = Math.min(failures - 1, 10);
  const span = Math.min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS * 2 ** doublings);
  return Math.round((span / 2) * (1 + chance / 2 ** 32));
}

/** Number of failures from which on the wait is longest. */
const FAILURES_SLOWEST = 11;

/** A shorter connection is not retried at once: a server may welcome and drop a peer forever. */
const SHORT_LIFE_MS = 1000;

/** How a connection ended. */
export interface End {
  readonly code: EndCode;
  readonly message: string;
  /** Milliseconds that the server asked the peer to wait. */
  readonly after?: number | undefined;
  readonly isSlow?: boolean;
  /** Error code of a refused login. */
  readonly refusal?: ErrorCode;
}

/** Ends that would recur on each connection: one side could not accept what the other sent. */
const FAULTS: readonly EndCode[] = ["malformed", "gap", "too_large"];

/**
 * Failures after this end. A welcomed connection resets them, unless it was short or faulty (S8).
 */
export function failuresAfter(state: PeerState, { code, isSlow }: End, elapsed: number): number {
  if (isSlow === true) return FAILURES_SLOWEST;
  if (FAULTS.includes(code)) return Math.max(1, state.failures);
  if (!isLinked(state)) return state.failures;
  return elapsed - state.phase.link.welcomedAt < SHORT_LIFE_MS ? 1 : 0;
}

/** The next number of a linear congruential generator with a period of 2^32. */
export function nextChance(chance: number): number {
  return (Math.imul(chance, 1_664_525) + 1_013_904_223) >>> 0;
}
