/**
 * Trial: dry run of an update on one document, which finds out whether the document can take all
 * edits before any is written.
 *
 * With one round the current values decide. With several rounds each one is applied to a copy of
 * the document state, because it depends on the rounds before it.
 */

import { type Edit, TIME_MAX } from "@bigpeer/protocol";
import { deltaOf } from "../../crdt/edit.ts";
import { merge } from "../../crdt/merge.ts";
import { show } from "../../crdt/show.ts";
import type { Steps } from "../../steps.ts";
import type { StoredDocument } from "../../store/view.ts";
import { Fault } from "../fault.ts";
import { type MutationContext, sizeLimitsOf, transactionOf } from "../mutate/application.ts";
import {
  checkDocumentSize,
  checkExtentChange,
  type ExtentChange,
  extentOf,
  isFarFromLimits,
  sizeOfWrite,
} from "../mutate/document-size.ts";
import type { MarkedFields } from "../mutate/local-diff.ts";
import { editsFor, type FieldEdit } from "./field-edit.ts";

/** An update of documents of one collection, as rounds of field edits. */
export interface Trial {
  readonly collection: string;
  readonly rounds: readonly (readonly FieldEdit[])[];
  readonly execution: MutationContext;
}

/** The edits of each round; undefined if the document cannot take all of them. */
export function* tryUpdate(trial: Trial, before: StoredDocument): Steps<Edit[][] | undefined> {
  const [first = [], ...others] = trial.rounds;
  const edits = editsFor(first, before);
  if (edits === undefined) return undefined;
  if (others.length > 0) return yield* tryRounds(trial, before);
  return (yield* fits(takeOne(trial, before, edits))) ? [edits] : undefined;
}

function* takeOne(
  { collection, execution }: Trial,
  before: StoredDocument,
  edits: Edit[],
): Steps<void> {
  const operation = { kind: "update", collection, id: before.id, edits } as const;
  const limits = sizeLimitsOf(execution);
  const transaction = transactionOf(execution);
  const write = { operation, before };
  const size = sizeOfWrite(write);
  if (!isFarFromLimits(write, size, limits)) {
    const { warnings } = execution;
    yield* checkDocumentSize(write, size, limits, { transaction, warnings });
  }
  execution.run.budget.take(size);
}

/** Whether the size check passes. */
function* fits(check: Steps<void>): Steps<boolean> {
  try {
    yield* check;
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** Site of the dry run. At the last times that exist, its writes are later than all others. */
const LAST_SITE = "ffffffffffffffff";

/** Bytes of a document that cost about as much as one step. */
const BYTES_PER_STEP = 256;

function* tryRounds(trial: Trial, before: StoredDocument): Steps<Edit[][] | undefined> {
  const { collection, rounds, execution } = trial;
  const { id } = before;
  const { budget } = execution.run;
  const found = extentOf(before.fields);
  let { state } = transactionOf(execution).view.state(collection, id);
  let shown: MarkedFields = before;
  const all: Edit[][] = [];
  for (const [i, round] of rounds.entries()) {
    yield;
    budget.step(1 + found.size / BYTES_PER_STEP);
    const edits = editsFor(round, shown);
    if (edits === undefined) return undefined;
    const stamp = { time: TIME_MAX - rounds.length + i, site: LAST_SITE };
    const delta = deltaOf(state, { kind: "update", collection, id, edits }, stamp);
    if (delta !== undefined) {
      state = merge(state, delta);
      shown = show(state) ?? shown;
    }
    all.push(edits);
  }
  yield;
  const change = { id, before: found, after: extentOf(shown.fields) };
  return (yield* fits(takeAll(trial, change))) ? all : undefined;
}

// oxlint-disable-next-line require-yield -- as takeOne
function* takeAll({ rounds, execution }: Trial, change: ExtentChange): Steps<void> {
  checkExtentChange(change, sizeLimitsOf(execution), execution.warnings);
  execution.run.budget.take(change.after.size + rounds.length * ROUND_BYTES);
}

/** The document after the edits, for the permission check. */
export function* triedImage(
  { collection, execution }: Trial,
  before: StoredDocument,
  rounds: readonly Edit[][],
): Steps<StoredDocument> {
  const { id } = before;
  let { state } = transactionOf(execution).view.state(collection, id);
  for (const [i, edits] of rounds.entries()) {
    if (i > 0) yield;
    execution.run.budget.step();
    const stamp = { time: TIME_MAX - rounds.length + i, site: LAST_SITE };
    const delta = deltaOf(state, { kind: "update", collection, id, edits }, stamp);
    if (delta !== undefined) state = merge(state, delta);
  }
  const shown = show(state);
  return shown === undefined ? before : { id, ...shown };
}

/** Approximate bytes of the operation of a round, without its values. */
const ROUND_BYTES = 64;
