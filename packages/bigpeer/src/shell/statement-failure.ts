/**
 * The failure of a statement, with the line of the statement and a caret below the place.
 */

import { BigPeerError } from "@bigpeer/client";
import { CommandFailure, describeFailure, EXIT, exitCodeOf } from "../program/failure.ts";
import { pad, visible, widthOf } from "../terminal/width.ts";

/** Columns of a line on both sides of the place. */
const AROUND = 60;

export function statementFailure(error: unknown, statement: string): unknown {
  if (!(error instanceof BigPeerError) || error.place === undefined) return error;
  const text = `${describeFailure(error)}\n${placeText(statement, error.place)}`;
  return new CommandFailure(text, exitCodeOf(error) ?? EXIT.failed);
}

/** The line of the place, and a caret. */
export function placeText(
  statement: string,
  { line, column }: { readonly line: number; readonly column: number },
): string {
  const text = statement.split("\n")[line - 1] ?? "";
  const start = Math.max(0, column - 1 - AROUND);
  const before = (start > 0 ? "…" : "") + visible(text.slice(start, column - 1));
  const after = visible(text.slice(column - 1, column - 1 + AROUND));
  return `  ${before}${after}\n  ${pad("", widthOf(before))}^`;
}
