/**
 * Liveness of a connection: decides when the other side counts as dead and when a ping is due. The
 * sessions of peers and of links share it (S5).
 *
 * The other side is dead if nothing was heard from it for too long, or if the network has taken
 * nothing from its queue for too long. A side that reads slowly is alive.
 */

/** What a session knows of the other side; its times are those of the monotonic clock. */
export interface Liveness {
  readonly heardMs: number;
  /** Undefined before the first ping. */
  readonly pingedMs: number | undefined;
  readonly waiting: WaitingQueue | undefined;
}

/** A queue from which the network has taken nothing since then. */
export interface WaitingQueue {
  readonly takenBytes: number;
  readonly sinceMs: number;
}

export interface LivenessLimits {
  /** Silence, and distance of pings, after which a ping is sent. */
  readonly pingMs: number;
  readonly silenceMs: number;
  /** How long the network may take nothing from the queue. */
  readonly stuckMs: number;
}

/** Bytes that wait for the network, and bytes that it has taken so far. */
export interface QueueLevel {
  readonly queuedBytes: number;
  readonly takenBytes: number;
}

/** The other side may be slow as long as the network takes something from the queue. */
export function watchQueue<State extends Liveness>(
  state: State,
  { queuedBytes, takenBytes }: QueueLevel,
  nowMs: number,
): State {
  const { waiting } = state;
  if (queuedBytes === 0) return waiting === undefined ? state : { ...state, waiting: undefined };
  if (waiting?.takenBytes === takenBytes) return state;
  return { ...state, waiting: { takenBytes, sinceMs: nowMs } };
}

/** Why the other side counts as dead; undefined while it is alive. */
export function causeOfDeath(
  { heardMs, waiting }: Liveness,
  { silenceMs, stuckMs }: LivenessLimits,
  nowMs: number,
): string | undefined {
  if (nowMs - heardMs >= silenceMs) return `nothing was heard for ${silenceMs} ms`;
  const isStuck = waiting !== undefined && nowMs - waiting.sinceMs >= stuckMs;
  return isStuck ? `nothing was read for ${stuckMs} ms` : undefined;
}

/**
 * Whether to send a ping: the first one at once, later ones to a side that is silent or has changes
 * to hear of. Its cursors advance by the transaction in a ping.
 */
export function isPingDue(
  { heardMs, pingedMs }: Liveness,
  hasChanges: boolean,
  { pingMs }: LivenessLimits,
  nowMs: number,
): boolean {
  if (pingedMs === undefined) return true;
  const isSilent = nowMs - heardMs >= pingMs;
  return nowMs - pingedMs >= pingMs && (isSilent || hasChanges);
}
