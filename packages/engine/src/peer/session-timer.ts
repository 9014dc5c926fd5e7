/**
 * Session timer: computes when a peer's session needs its next tick: to reconnect, ping, time out
 * or renew its token. There is one timer, and none while nothing is due.
 */

import { unreachable } from "@bigpeer/protocol";
import type { Link, PeerState, Phase, StepContext } from "./session-state.ts";

/** Silence after which the peer sends a ping, and after which it ends the connection (S5). */
const PING_AFTER_MS = 30_000;
export const DEAD_AFTER_MS = 60_000;

export function pingAt({ heardAt, pingedAt }: Pick<Link, "heardAt" | "pingedAt">): number {
  return Math.max(heardAt, pingedAt) + PING_AFTER_MS;
}

/** Requests a tick if one is due before the requested one; cancels that one if none is due. */
export function schedule(state: PeerState, context: StepContext): PeerState {
  const due = dueAt(state.phase);
  if (due === undefined) return sleep(state, context);
  if (state.wakeAt !== undefined && state.wakeAt <= due) return state;
  context.actions.push({ kind: "wakeAt", elapsed: due });
  return { ...state, wakeAt: due };
}

function sleep(state: PeerState, context: StepContext): PeerState {
  if (state.wakeAt === undefined) return state;
  context.actions.push({ kind: "sleep" });
  const { wakeAt: _, ...next } = state;
  return next;
}

function dueAt(phase: Phase): number | undefined {
  switch (phase.name) {
    case "stopped":
      return undefined;
    case "waiting":
      return phase.until;
    case "connecting":
    case "greeting":
      return phase.since + DEAD_AFTER_MS;
    case "settling":
    case "open": {
      const { link } = phase;
      const dead = link.heardAt + DEAD_AFTER_MS;
      return Math.min(pingAt(link), dead, link.renewAt ?? dead);
    }
    default:
      return unreachable(phase);
  }
}
