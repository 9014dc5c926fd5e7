/**
 * Answer: what a write is told, made once for each name that its caller gave it.
 *
 * The same request under the same name is told again what it was told first, and writes nothing. The
 * answer is remembered in the transaction that it tells of.
 */

import type { Value } from "@bigpeer/protocol";
import { type RepeatKey, recallAnswer, rememberAnswer } from "../../store/remembered-answer.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Warning } from "../run/execution.ts";

export interface Answer<T> {
  /** Values, in arrays and plain objects. */
  readonly result: T;
  /** The first few; `totalWarnings` counts all. */
  readonly warnings: readonly Warning[];
  readonly totalWarnings: number;
  /** The transaction, in an answer that is remembered. */
  readonly txnId?: number;
}

/** What an earlier request of the same name and content was told. */
export function recalled<T>(transaction: Transaction, key: RepeatKey): Answer<T> | undefined {
  return recallAnswer(transaction.view, key) as unknown as Answer<T> | undefined;
}

/** Remembers an answer; this is a change, so that the transaction has an id in any case. */
export function remember<T>(
  transaction: Transaction,
  key: RepeatKey,
  answer: Answer<T>,
): Answer<T> {
  const whole: Answer<T> = { ...answer, txnId: transaction.txnId };
  rememberAnswer(transaction, key, whole as unknown as Value);
  return whole;
}
