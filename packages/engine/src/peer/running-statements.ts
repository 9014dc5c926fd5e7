/**
 * Running statements: runs statements of the server on a peer (S44), and splits their results into
 * messages. Results after the end of a run, its cancellation or its connection are dropped.
 */

import {
  type AnswerMessage,
  encodeMessage,
  hasTooManyContainers,
  PeerError,
  RUN_WARNINGS_MAX,
  type RunEnd,
  type RunMessage,
  type Value,
} from "@bigpeer/protocol";
import { endOfError } from "./peer-runs.ts";

export interface RunPiece {
  readonly items: readonly Value[];
  /** Set on the last piece. */
  readonly end?: RunEnd;
}

export type RunReply = (piece: RunPiece) => void;

/** Runs a statement of the server. It may reply before it returns. */
export type RunStatement = (run: RunMessage, reply: RunReply) => { cancel(): void };

interface Running {
  handle: { cancel(): void } | undefined;
  isOver: boolean;
  /** The run was ended here, so the host must cancel it. */
  isCut: boolean;
}

export class RunningStatements {
  readonly #run: RunStatement | undefined;
  readonly #running = new Map<number, Running>();

  /** Without `run` the peer refuses all statements. */
  constructor(run: RunStatement | undefined) {
    this.#run = run;
  }

  /** Runs a statement, and calls `answer` with messages of at most `bytesMax` bytes. */
  start(run: RunMessage, bytesMax: number, answer: (message: AnswerMessage) => void): void {
    const { id } = run;
    const running: Running = { handle: undefined, isOver: false, isCut: false };
    const finish = (end: RunEnd): void => {
      this.#end(id, running);
      answer({ t: "answer", id, items: [], end });
    };
    if (this.#run === undefined) {
      return finish(endOfError("remote.refused", "this peer runs no statements of others"));
    }
    this.#running.set(id, running);
    const reply = ({ items, end }: RunPiece): void => {
      if (running.isOver) return;
      const messages = messagesOf(id, items, end && checkedEnd(end), bytesMax);
      if (messages === undefined) {
        running.isCut = true;
        running.handle?.cancel();
        return finish(endOfError("query.too_large", "a row is too large for a message"));
      }
      if (end !== undefined) this.#end(id, running);
      for (const message of messages) answer(message);
    };
    try {
      running.handle = this.#run(run, reply);
    } catch (error) {
      if (!running.isOver) finish(endOfFailure(error));
      return;
    }
    // The run was ended before it had a handle.
    if (running.isCut) running.handle.cancel();
  }

  cancel(id: number): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#end(id, running);
    running.handle?.cancel();
  }

  #end(id: number, running: Running): void {
    running.isOver = true;
    if (this.#running.get(id) === running) this.#running.delete(id);
  }
}

function endOfFailure(error: unknown): RunEnd {
  const message = error instanceof Error ? error.message : String(error);
  return endOfError(error instanceof PeerError ? error.code : "query.store", message);
}

/** The end within the limits of the protocol: beyond them the server would end the connection. */
function checkedEnd(end: RunEnd): RunEnd {
  return {
    ...end,
    elapsedMs: Math.max(0, Math.round(end.elapsedMs)),
    warnings: end.warnings.slice(0, RUN_WARNINGS_MAX),
  };
}

/** Splits a piece into as many messages as it needs; undefined if one row alone is too large. */
function messagesOf(
  id: number,
  items: readonly Value[],
  end: RunEnd | undefined,
  bytesMax: number,
): AnswerMessage[] | undefined {
  const piece: AnswerMessage = { t: "answer", id, items };
  const message = end === undefined ? piece : { ...piece, end };
  const bytes = encodeMessage(message);
  if (bytes.length <= bytesMax && !hasTooManyContainers(bytes)) return [message];
  const middle = splitAt(items.length, end !== undefined);
  if (middle === 0) return undefined;
  const first = messagesOf(id, items.slice(0, middle), undefined, bytesMax);
  const rest = first && messagesOf(id, items.slice(middle), end, bytesMax);
  return rest && [...first, ...rest];
}

/** Rows before the split; the end can have a message of its own. 0 if nothing is left to split. */
function splitAt(count: number, hasEnd: boolean): number {
  return count === 1 && hasEnd ? 1 : Math.floor(count / 2);
}
