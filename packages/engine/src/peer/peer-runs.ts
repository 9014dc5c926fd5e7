/**
 * Peer runs: tracks, in a peer's session, which statements of the server are running (S44 to S46).
 * Answers of a run that has ended or was cancelled are dropped.
 */

import type { AnswerMessage, CancelMessage, RunEnd, RunMessage } from "@bigpeer/protocol";
import {
  isLinked,
  type Linked,
  type PeerEvent,
  type PeerState,
  type StepContext,
  withLink,
} from "./session-state.ts";

/** Statements that run at a time (S44). */
export const RUNS_MAX = 16;

/** The end of a run that has only an error. */
export function endOfError(code: string, message: string): RunEnd {
  return { elapsedMs: 0, warnings: [], totalWarnings: 0, error: { code, message } };
}

/** Starts a run. Undefined if its number is in use: a connection never uses one again (S44). */
export function takeRun(state: Linked, run: RunMessage, context: StepContext): Linked | undefined {
  const { runs } = state.phase.link;
  const { id } = run;
  if (runs.has(id)) return undefined;
  if (runs.size >= RUNS_MAX) {
    const end = endOfError("query.busy", `expected at most ${RUNS_MAX} statements at a time`);
    context.actions.push({ kind: "send", message: { t: "answer", id, items: [], end } });
    return state;
  }
  context.actions.push({ kind: "run", connection: state.connection, run });
  return withLink(state, { runs: new Set([...runs, id]) });
}

export function takeCancel(state: Linked, { id }: CancelMessage, context: StepContext): Linked {
  if (!state.phase.link.runs.has(id)) return state;
  context.actions.push({ kind: "cancel", connection: state.connection, id });
  return withoutRun(state, id);
}

export function takeAnswered(
  state: Linked,
  { id, items, end }: Extract<PeerEvent, { readonly kind: "answered" }>,
  context: StepContext,
): Linked {
  if (!state.phase.link.runs.has(id)) return state;
  const piece: AnswerMessage = { t: "answer", id, items };
  context.actions.push({ kind: "send", message: end === undefined ? piece : { ...piece, end } });
  return end === undefined ? state : withoutRun(state, id);
}

function withoutRun(state: Linked, id: number): Linked {
  const runs = new Set(state.phase.link.runs);
  runs.delete(id);
  return withLink(state, { runs });
}

/** Cancels all runs when the connection ends, because they can no longer be answered. */
export function cancelRuns(state: PeerState, context: StepContext): void {
  if (!isLinked(state)) return;
  const { connection } = state;
  for (const id of state.phase.link.runs) context.actions.push({ kind: "cancel", connection, id });
}
