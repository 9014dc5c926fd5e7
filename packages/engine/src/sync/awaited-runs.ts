/**
 * Awaited runs: the statements that a peer was asked to run and has not answered (S44 to S46), as the
 * machine of its session knows them.
 */

import type { AnswerMessage } from "@bigpeer/protocol";
import type { SessionAction, SessionEvent } from "./session-event.ts";
import type { OpenSession } from "./session-state.ts";

export interface RunStep {
  readonly state: OpenSession;
  readonly actions: readonly SessionAction[];
}

/**
 * A peer counts the bytes of its rows, we count those of its frames, in which there is more. Beyond
 * twice what was asked for, and what warnings and errors may take, nobody counts honestly.
 */
const FRAME_FACTOR = 2;
const END_BYTES = 64 * 1024;

export function askRun(
  state: OpenSession,
  { id, rows, bytes, frame }: Extract<SessionEvent, { kind: "run" }>,
): RunStep {
  const bytesMax = FRAME_FACTOR * bytes + END_BYTES;
  const runs = new Map(state.runs).set(id, { rowsMax: rows, bytesMax, rows: 0, bytes: 0 });
  return { state: { ...state, runs }, actions: [{ kind: "forward", frame }] };
}

/** Of one that is not waited for there is nothing to be cancelled. */
export function cancelRun(state: OpenSession, id: number): RunStep {
  if (!state.runs.has(id)) return { state, actions: [] };
  const runs = new Map(state.runs);
  runs.delete(id);
  return { state: { ...state, runs }, actions: [{ kind: "send", message: { t: "cancel", id } }] };
}

/** The text is what is wrong with the answer: then the session ends. */
export function takeAnswer(
  state: OpenSession,
  { id, items, end }: AnswerMessage,
  size: number,
): RunStep | string {
  const run = state.runs.get(id);
  // It was cancelled, or answered before.
  if (run === undefined) return { state, actions: [] };
  const rows = run.rows + items.length;
  const bytes = run.bytes + size;
  if (rows > run.rowsMax) return `expected at most ${run.rowsMax} rows of the run ${id}`;
  if (bytes > run.bytesMax) return `expected at most ${run.bytesMax} bytes of the run ${id}`;
  const runs = new Map(state.runs);
  if (end === undefined) runs.set(id, { ...run, rows, bytes });
  else runs.delete(id);
  return { state: { ...state, runs }, actions: [{ kind: "answered", id, items, size, end }] };
}
