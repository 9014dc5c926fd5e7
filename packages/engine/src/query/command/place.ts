/**
 * Error positions in a request: adds to an error the command and the part of it that is wrong.
 */

import { assert, type DocumentId, documentId, PeerError } from "@bigpeer/protocol";
import { Fault, locate } from "../fault.ts";
import type { Steps } from "../frame/steps.ts";

/**
 * Runs `work` for the part of a request at `at` and adds that position to its errors. If the part
 * was parsed, they also get the line and column in its text.
 */
export function within<T>(at: string, work: () => T, text?: string): T {
  try {
    return work();
  } catch (error) {
    throw placed(error, at, text);
  }
}

/** Like `within`, for work that runs in steps. */
export function* withinSteps<T>(at: string, work: Steps<T>, text?: string): Steps<T> {
  try {
    return yield* work;
  } catch (error) {
    throw placed(error, at, text);
  }
}

/** The error with the position; errors of another kind stay as they are. */
export function placed(error: unknown, at: string, text?: string): unknown {
  if (error instanceof PeerError && error.code === "query.arguments") {
    return new PeerError(error.code, error.message, { at });
  }
  if (!(error instanceof Fault)) return error;
  const { code, reason, expected, hint } = error;
  // A denial concerns the whole command: its parts may be right for another caller.
  if (code === "permission.denied") return new PeerError(code, reason, { at: commandOf(at) });
  if (text === undefined) return new PeerError(code, reason, { at, expected, hint });
  const inText = locate(error, text);
  assert(inText instanceof PeerError, "a fault that was located");
  const { place } = inText;
  const where = inText.at === undefined ? at : `${at}, ${inText.at}`;
  return new PeerError(code, reason, { at: where, place, expected, hint });
}

function commandOf(at: string): string {
  return at.replace(/^(commands\[\d+\]).*$/s, "$1");
}

/** Canonical form of the document id at `at`. */
export function idAt(input: unknown, at: string): DocumentId {
  try {
    return documentId(input);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    const { message, at: inner = "_id" } = error;
    const end = ` at ${inner}`;
    const bare = message.endsWith(end) ? message.slice(0, -end.length) : message;
    throw new PeerError("id.invalid", bare, { at: inner.replace(/^_id/, () => at) });
  }
}
