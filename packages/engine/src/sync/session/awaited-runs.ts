/**
 * Awaited runs: statements that the server sent to the peer of a session and whose answers it
 * awaits (S44 to S46). Pure functions of the session state: start, cancel, take part of an answer.
 * An answer with too many rows or bytes ends the session.
 */

import type { AnswerMessage } from "@bigpeer/protocol";
import type { SessionAction, SessionEvent } from "./session-event.ts";
import type { OpenSession } from "./session-state.ts";

export interface RunStep {
  readonly state: OpenSession;
  readonly actions: readonly SessionAction[];
}

/**
 * The peer limits the bytes of its rows; the server counts whole frames. An answer may take twice
 * the requested bytes, plus 64 KB for warnings and errors (S46).
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

/** Does nothing if the session does not await the run. */
export function cancelRun(state: OpenSession, id: number): RunStep {
  if (!state.runs.has(id)) return { state, actions: [] };
  const runs = new Map(state.runs);
  runs.delete(id);
  return { state: { ...state, runs }, actions: [{ kind: "send", message: { t: "cancel", id } }] };
}

/** Returns an error message if the answer exceeds a limit: the session then ends (S46). */
export function takeAnswer(
  state: OpenSession,
  { id, items, end }: AnswerMessage,
  size: number,
): RunStep | string {
  const run = state.runs.get(id);
  // The run was cancelled or is already answered: ignored (S46).
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
