/**
 * Session ping: pings a peer and learns its progress and round-trip time from the pongs (S43).
 */

import type { Pong } from "@bigpeer/protocol";
import type { Moment, SessionAction } from "./session-event.ts";
import type { OpenSession, SentPing } from "./session-state.ts";

/** Pings that may be without a pong; beyond it the oldest is given up. */
const PINGS_MAX = 4;

export const NO_PINGS: readonly SentPing[] = [];

export interface PingStep {
  readonly state: OpenSession;
  readonly actions: readonly SessionAction[];
}

export function sendPing(state: OpenSession, txn: number, now: Moment): PingStep {
  const { wallMs, elapsedMs } = now;
  const pings = [...state.pings, { wallMs, elapsedMs }].slice(-PINGS_MAX);
  return {
    state: { ...state, pings, pingedMs: elapsedMs, announcedTxn: txn },
    actions: [{ kind: "send", message: { t: "ping", now: wallMs, txn } }],
  };
}

/** Pongs come in the order of the pings: the pings before an answered one count as answered. */
export function hearPong(state: OpenSession, pong: Pong, { elapsedMs }: Moment): OpenSession {
  const at = state.pings.findIndex(({ wallMs }) => wallMs === pong.ping);
  const ping = state.pings[at];
  if (ping === undefined) return state;
  const rest = state.pings.slice(at + 1);
  const { txn, pending } = pong;
  return {
    ...state,
    pings: rest.length === 0 ? NO_PINGS : rest,
    lastPong: {
      txn,
      pending,
      roundTripMs: elapsedMs - ping.elapsedMs,
      pingedMs: ping.elapsedMs,
    },
  };
}
