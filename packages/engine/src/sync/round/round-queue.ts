/**
 * Round queue: the streams and sessions that wait for the next round, besides the live streams that
 * each round serves.
 */

import type { ServedSession, Stream } from "../stream/stream.ts";
import type { RoundInput } from "./round.ts";

export class RoundQueue {
  readonly #joining = new Set<Stream>();
  /** Live streams with requested documents. */
  readonly #requested = new Set<Stream>();
  /** Sessions with outcomes. */
  readonly #sessions = new Set<ServedSession>();

  /** Adds or removes a stream, by its phase and its requests. Returns whether it is in now. */
  place(stream: Stream): boolean {
    const { phase, isLive, hasWants } = stream;
    const isJoining = toggle(this.#joining, stream, phase === "join");
    return toggle(this.#requested, stream, isLive && hasWants) || isJoining;
  }

  /** The session has outcomes that fit into its queue. */
  addSession(session: ServedSession): void {
    this.#sessions.add(session);
  }

  removeSession(session: ServedSession): void {
    this.#sessions.delete(session);
  }

  removeSessions(): void {
    this.#sessions.clear();
  }

  /** Whether a round up to a transaction has something to do for them. */
  isDue(txn: number): boolean {
    if (this.#joining.size > 0 || this.#requested.size > 0) return true;
    for (const { outcomes } of this.#sessions) {
      if (outcomes[0] !== undefined && outcomes[0].txn <= txn) return true;
    }
    return false;
  }

  /** All that wait, for a round that begins now. They stay queued until they are served. */
  waiting(): Pick<RoundInput, "joining" | "sessions" | "requested"> {
    return {
      joining: [...this.#joining],
      sessions: [...this.#sessions],
      requested: [...this.#requested],
    };
  }
}

/** A stream that is in keeps its place. */
function toggle(queue: Set<Stream>, stream: Stream, isIn: boolean): boolean {
  if (isIn) queue.add(stream);
  else queue.delete(stream);
  return isIn;
}
