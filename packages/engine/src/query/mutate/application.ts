/**
 * applyWrites: checks the operations of one statement and applies them to its transaction.
 *
 * All operations go in one call, so they share one tick, and an invalid one is found before the
 * first has an effect. Writes without permission are refused here, for every kind of request.
 */

import { assert, type DocumentOperation, PeerError, type Value } from "@bigpeer/protocol";
import type { OperationOutcome } from "../../store/applier.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { evaluationFault } from "../fault.ts";
import type { Steps } from "../frame/steps.ts";
import { type DocumentPlace, getDocument } from "../run/declared-read.ts";
import type { Execution, Typing } from "../run/execution.ts";
import type { Settings } from "../system/settings.ts";
import {
  checkDocumentSize,
  checkStamps,
  isFarFromLimits,
  type SizeLimits,
  sizeOfWrite,
  type Write,
} from "./document-size.ts";

/** The parts of an execution that a mutation needs. */
export interface MutationContext
  extends Pick<Execution, "run" | "view" | "checker" | "transaction" | "warnings"> {
  readonly system: { readonly settings: DocumentSettings };
}

type DocumentSettings = Pick<Settings, "documentSizeSoftLimit" | "documentSizeHardLimit">;

export function transactionOf(execution: MutationContext): Transaction {
  const { transaction } = execution;
  assert(transaction !== undefined, "a mutation inside a transaction");
  return transaction;
}

export function sizeLimitsOf({ system }: MutationContext): SizeLimits {
  const { documentSizeSoftLimit: soft, documentSizeHardLimit: hard } = system.settings;
  return { soft, hard };
}

/** Applies writes after a check of document sizes. */
export function* applyWrites(
  writes: readonly Write[],
  execution: MutationContext,
  at?: number,
): Steps<OperationOutcome[]> {
  const transaction = transactionOf(execution);
  const { budget } = execution.run;
  const limits = sizeLimitsOf(execution);
  const operations: DocumentOperation[] = [];
  try {
    for (const write of writes) {
      if (operations.length > 0) yield;
      budget.step();
      const size = sizeOfWrite(write);
      if (!isFarFromLimits(write, size, limits)) {
        const { warnings } = execution;
        yield* checkDocumentSize(write, size, limits, { transaction, warnings });
      }
      budget.take(size);
      operations.push(write.operation);
    }
  } catch (error) {
    throw ofStatement(error, at);
  }
  return yield* applyOperations(operations, execution, at);
}

export function* applyOperations(
  operations: readonly DocumentOperation[],
  execution: MutationContext,
  at?: number,
): Steps<OperationOutcome[]> {
  const { checker } = execution;
  if (checker !== undefined) return (yield* applyRounds([operations], execution, at))[0] ?? [];
  try {
    const transaction = transactionOf(execution);
    const outcomes = yield* transaction.applyInSteps(operations);
    checkStamps(transaction);
    return outcomes;
  } catch (error) {
    throw ofStatement(error, at);
  }
}

/** The same for several ticks; permissions are checked on the result of the last one. */
export function* applyRounds(
  rounds: readonly (readonly DocumentOperation[])[],
  execution: MutationContext,
  at?: number,
): Steps<OperationOutcome[][]> {
  const { checker } = execution;
  try {
    if (checker === undefined) return yield* applyUnchecked(rounds, execution);
    const { view } = transactionOf(execution);
    return yield* checker.applyChecked(view, rounds.flat(), () =>
      applyUnchecked(rounds, execution),
    );
  } catch (error) {
    throw ofStatement(error, at);
  }
}

function* applyUnchecked(
  rounds: readonly (readonly DocumentOperation[])[],
  execution: MutationContext,
): Steps<OperationOutcome[][]> {
  const transaction = transactionOf(execution);
  const outcomes: OperationOutcome[][] = [];
  for (const round of rounds) {
    if (rounds.length > 1) execution.run.budget.look();
    outcomes.push(yield* transaction.applyInSteps(round));
  }
  checkStamps(transaction);
  return outcomes;
}

const CONTENT_CODES: ReadonlySet<string> = new Set([
  "value.invalid",
  "id.invalid",
  "operation.invalid",
]);

/** Turns an invalid operation into a fault of its statement. */
function ofStatement(error: unknown, at: number | undefined): unknown {
  if (!(error instanceof PeerError) || !CONTENT_CODES.has(error.code)) return error;
  return evaluationFault(error.message, at);
}

/** Documents as the statement sees them after its writes; invisible ones are omitted. */
export function* readBack(
  ids: readonly Value[],
  typing: Typing,
  place: DocumentPlace,
): Steps<StoredDocument[]> {
  const documents: StoredDocument[] = [];
  for (const id of ids) {
    const document = getDocument(id, typing, place);
    if (document !== undefined) documents.push(document);
    yield;
  }
  return documents;
}
