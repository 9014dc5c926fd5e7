/**
 * The timer of a peer's session: when the next tick is due. There is one timer, and none while
 * nothing is waited for.
 */

import { unreachable } from "@bigpeer/protocol";
import type { Link, PeerState, Phase, Turn } from "./session-state.ts";

/** Silence after which a ping goes out, and after which a connection is dead (S5). */
const PING_AFTER_MS = 30_000;
export const DEAD_AFTER_MS = 60_000;

export function pingAt({ heardAt, pingedAt }: Pick<Link, "heardAt" | "pingedAt">): number {
  return Math.max(heardAt, pingedAt) + PING_AFTER_MS;
}

/** Asks for a tick when one is due sooner than the one that was asked for; for none when none is. */
export function schedule(state: PeerState, turn: Turn): PeerState {
  const due = dueAt(state.phase);
  if (due === undefined) return sleep(state, turn);
  if (state.wakeAt !== undefined && state.wakeAt <= due) return state;
  turn.actions.push({ kind: "wakeAt", elapsed: due });
  return { ...state, wakeAt: due };
}

function sleep(state: PeerState, turn: Turn): PeerState {
  if (state.wakeAt === undefined) return state;
  turn.actions.push({ kind: "sleep" });
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
