/**
 * Statements that the server asks a peer to run, in its session (S44 to S46): which of them are
 * running. What comes of one that nobody waits for any more goes nowhere.
 */

import type { AnswerMessage, CancelMessage, RunEnd, RunMessage } from "@bigpeer/protocol";
import {
  isLinked,
  type Linked,
  type PeerEvent,
  type PeerState,
  type Turn,
  withLink,
} from "./session-state.ts";

/** Runs at a time (S44). */
export const RUNS_MAX = 16;

/** The end of a run of which nothing came but an error. */
export function endOfError(code: string, message: string): RunEnd {
  return { elapsedMs: 0, warnings: [], totalWarnings: 0, error: { code, message } };
}

/** Undefined when a run of this number is running: it may not be used again. */
export function takeRun(state: Linked, run: RunMessage, turn: Turn): Linked | undefined {
  const { runs } = state.phase.link;
  const { id } = run;
  if (runs.has(id)) return undefined;
  if (runs.size >= RUNS_MAX) {
    const end = endOfError("query.busy", `expected at most ${RUNS_MAX} statements at a time`);
    turn.actions.push({ kind: "send", message: { t: "answer", id, items: [], end } });
    return state;
  }
  turn.actions.push({ kind: "run", connection: state.connection, run });
  return withLink(state, { runs: new Set([...runs, id]) });
}

export function takeCancel(state: Linked, { id }: CancelMessage, turn: Turn): Linked {
  if (!state.phase.link.runs.has(id)) return state;
  turn.actions.push({ kind: "cancel", connection: state.connection, id });
  return withoutRun(state, id);
}

export function takeAnswered(
  state: Linked,
  { id, items, end }: Extract<PeerEvent, { readonly kind: "answered" }>,
  turn: Turn,
): Linked {
  if (!state.phase.link.runs.has(id)) return state;
  const piece: AnswerMessage = { t: "answer", id, items };
  turn.actions.push({ kind: "send", message: end === undefined ? piece : { ...piece, end } });
  return end === undefined ? state : withoutRun(state, id);
}

function withoutRun(state: Linked, id: number): Linked {
  const runs = new Set(state.phase.link.runs);
  runs.delete(id);
  return withLink(state, { runs });
}

/** The connection ends: nobody can be answered any more. */
export function cancelRuns(state: PeerState, turn: Turn): void {
  if (!isLinked(state)) return;
  const { connection } = state;
  for (const id of state.phase.link.runs) turn.actions.push({ kind: "cancel", connection, id });
}
