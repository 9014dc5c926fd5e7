/**
 * Back-off of deliveries: whether a delivery that failed is tried again, and when.
 *
 * The time between attempts doubles from one second to ten minutes, with jitter, so that many
 * senders do not return together. A receiver that asks for more time gets it, up to an hour.
 */

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 600_000;
const ASKED_MS_MAX = 3_600_000;

/** Attempts at a content that the receiver refuses: waiting hardly helps. */
const REFUSED_ATTEMPTS_MAX = 5;

export interface FailedAttempt {
  /** Attempts at this delivery, this one included. */
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Whether the receiver is well and does not accept this content. */
  readonly isRefused: boolean;
  /** How long the receiver asks to wait. */
  readonly askedMs: number | undefined;
  /** From 0 to below 1. */
  readonly chance: number;
}

/** Milliseconds until the next attempt; undefined when there is none. */
export function waitAfter(failed: FailedAttempt): number | undefined {
  const { attempts, attemptsMax, isRefused, askedMs = 0, chance } = failed;
  const most = isRefused ? Math.min(attemptsMax, REFUSED_ATTEMPTS_MAX) : attemptsMax;
  if (attempts >= most) return undefined;
  const doubled = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** Math.min(attempts - 1, 30));
  return Math.max(doubled * (0.5 + chance), Math.min(askedMs, ASKED_MS_MAX));
}
