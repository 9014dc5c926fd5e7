/**
 * Back-off: how long a peer waits before it comes back (S8). Chance is a number that goes from state
 * to state, so that a session is a function of what it was given.
 */

import type { ErrorCode } from "@bigpeer/protocol";
import { type EndCode, isLinked, type PeerState } from "./session-state.ts";

/** The first wait after the try that is made at once. */
export const BACK_OFF_FIRST_MS = 500;
export const BACK_OFF_MOST_MS = 60_000;

/** Between half of the span and the whole: peers that lost one server do not come back as one. */
export function waitOf(failures: number, chance: number): number {
  if (failures === 0) return 0;
  const doublings = Math.min(failures - 1, 10);
  const span = Math.min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS * 2 ** doublings);
  return Math.round((span / 2) * (1 + chance / 2 ** 32));
}

/** As after very many failures. */
const FAILURES_SLOWEST = 11;

/** A connection that ends sooner is not tried again at once: a server may welcome and drop for ever. */
const SHORT_LIFE_MS = 1000;

/** How a connection ended. */
export interface End {
  readonly code: EndCode;
  readonly message: string;
  /** Milliseconds that the server asked for. */
  readonly after?: number | undefined;
  readonly isSlow?: boolean;
  /** Of a login that was refused. */
  readonly refusal?: ErrorCode;
}

/** Ends that would come again at once, welcome or not: what one side does is wrong to the other. */
const FAULTS: readonly EndCode[] = ["malformed", "gap", "too_large"];

/** A connection that was welcomed starts the count over, unless it ended by a fault. */
export function failuresAfter(state: PeerState, { code, isSlow }: End, elapsed: number): number {
  if (isSlow === true) return FAILURES_SLOWEST;
  if (FAULTS.includes(code)) return Math.max(1, state.failures);
  if (!isLinked(state)) return state.failures;
  return elapsed - state.phase.link.welcomedAt < SHORT_LIFE_MS ? 1 : 0;
}

/** The next number of a sequence that visits all of 32 bits. */
export function nextChance(chance: number): number {
  return (Math.imul(chance, 1_664_525) + 1_013_904_223) >>> 0;
}
