/**
 * Fault: error of a statement with its offset in the text.
 *
 * Every stage throws with the offset it knows. `locate` then turns the offset into line, column and
 * nearby text, where the text is known.
 */

import { type ErrorCode, PeerError, type TextPlace } from "@bigpeer/protocol";
import type { Steps } from "../steps.ts";

export interface FaultDetails {
  readonly expected?: string | undefined;
  readonly hint?: string | undefined;
}

/** A fault of which only the offset is known so far. */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly offset: number | undefined;
  readonly expected: string | undefined;
  /** The reason without the hint: messages put the position between the two. */
  readonly reason: string;
  /** The probable intention, or advice. */
  readonly hint: string | undefined;

  constructor(code: ErrorCode, reason: string, offset?: number, details: FaultDetails = {}) {
    const { expected, hint } = details;
    super(hint === undefined ? reason : `${reason}; ${hint}`);
    this.reason = reason;
    this.hint = hint;
    this.code = code;
    this.offset = offset;
    this.expected = expected;
  }
}

export function syntaxFault(expected: string, found: string, offset: number, hint?: string): Fault {
  const reason = `expected ${expected}, found ${found}`;
  return new Fault("query.syntax", reason, offset, { expected, hint });
}

export function semanticFault(reason: string, offset?: number, hint?: string): Fault {
  return new Fault("query.semantic", reason, offset, { hint });
}

export function evaluationFault(reason: string, offset?: number, hint?: string): Fault {
  return new Fault("query.evaluation", reason, offset, { hint });
}

/** The same fault with another hint. */
export function withHint({ code, reason, offset, expected }: Fault, hint: string): Fault {
  return new Fault(code, reason, offset, { expected, hint });
}

const NEAR_LENGTH_MAX = 24;

/** The error for the caller: a Fault gets its position, any other error is returned unchanged. */
export function locate(error: unknown, text: string): unknown {
  if (!(error instanceof Fault)) return error;
  const { code, reason, offset, expected, hint } = error;
  if (offset === undefined) return new PeerError(code, reason, { hint });
  return new PeerError(code, reason, { place: placeOf(text, offset), expected, hint });
}

/** Runs a stage that throws Faults with offsets. */
export function located<T>(text: string, stage: () => T): T {
  try {
    return stage();
  } catch (error) {
    throw locate(error, text);
  }
}

/** The same for a stage with pauses. */
export function* locatedSteps<T>(text: string, stage: Steps<T>): Steps<T> {
  try {
    return yield* stage;
  } catch (error) {
    throw locate(error, text);
  }
}

export function placeOf(text: string, offset: number): TextPlace {
  let line = 1;
  let column = 1;
  // Without copying the text before, which may be long.
  for (let i = 0; i < Math.min(offset, text.length); i++) {
    const code = text.charCodeAt(i);
    if (code === NEWLINE) {
      line++;
      column = 1;
    } else if (!isSecondHalf(text, i)) column++;
  }
  const rest = text.slice(offset, offset + 2 * NEAR_LENGTH_MAX).split("\n", 1)[0] ?? "";
  return { line, column, near: characters(rest).slice(0, NEAR_LENGTH_MAX).join("") };
}

const NEWLINE = 0x0a;

/** Whether this is the second half of a surrogate pair, which is not a column of its own. */
function isSecondHalf(text: string, at: number): boolean {
  if (at === 0 || (text.charCodeAt(at) & 0xfc00) !== 0xdc00) return false;
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

/** By code point, as editors count columns. */
function characters(text: string): string[] {
  return Array.from(text);
}
