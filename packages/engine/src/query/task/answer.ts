/**
 * Answer: the result of a request with its warnings. Done: the same with the transaction that it
 * read or committed.
 */

import type { Warning, Warnings } from "../run/warnings.ts";

export interface Answer<T> {
  /** Consists of values, arrays and plain objects. */
  readonly result: T;
  /** The first few warnings; `totalWarnings` counts all. */
  readonly warnings: readonly Warning[];
  readonly totalWarnings: number;
}

export interface Done<T> extends Answer<T> {
  readonly txnId: number;
  readonly isReplay: boolean;
}

export function answerOf<T>(result: T, { list, total }: Warnings): Answer<T> {
  return { result, warnings: list, totalWarnings: total };
}

/** The end of work that committed nothing. */
export function doneAt<T>(result: T, { list, total }: Warnings, txnId: number): Done<T> {
  return { result, warnings: list, totalWarnings: total, txnId, isReplay: false };
}
