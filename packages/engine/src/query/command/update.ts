/**
 * The update command of the data API: applies field edits to every document that matches a filter.
 *
 * A document takes all edits or none: a dry run decides before the first edit is written.
 */

import { type Edit, PeerError, type UpdateOperation } from "@bigpeer/protocol";
import { UPDATE_ROUNDS_MAX } from "../../limits.ts";
import type { Steps } from "../../steps.ts";
import type { StoredDocument } from "../../store/view.ts";
import { applyRounds, transactionOf } from "../mutate/application.ts";
import type { Execution } from "../run/execution.ts";
import { type AttachmentToken, checkUploaded } from "./attachment-token.ts";
import type { UpdateCommand, UpdateResult } from "./command.ts";
import { type FieldEdit, fieldEdit } from "./field-edit.ts";
import {
  type CommandContext,
  type PreparedCommand,
  prepareSelection,
  type Selection,
} from "./selection.ts";
import { type Trial, triedImage, tryUpdate } from "./trial.ts";
import { roundsOf } from "./update-round.ts";

export function prepareUpdate(
  command: UpdateCommand,
  context: CommandContext,
): PreparedCommand<UpdateResult> {
  const selection = prepareSelection(command, context);
  const fields = command.commands.map((each, i) => fieldEdit(each, `${context.at}.commands[${i}]`));
  const tokens = fields.flatMap((field) => (field.kind === "fixed" ? (field.token ?? []) : []));
  const rounds = roundsOf(fields);
  checkRounds(rounds.length, `${context.at}.commands`);
  const update = { selection, fields, tokens, rounds };
  const run = (execution: Execution): Steps<UpdateResult> => runUpdate(update, execution);
  return fields.length === 0 ? { run } : { run, choose: selection.rows };
}

interface PreparedUpdate {
  readonly selection: Selection;
  readonly fields: readonly FieldEdit[];
  readonly tokens: readonly AttachmentToken[];
  readonly rounds: readonly (readonly FieldEdit[])[];
}

function* runUpdate(update: PreparedUpdate, execution: Execution): Steps<UpdateResult> {
  const { selection, fields, tokens, rounds } = update;
  const { collection, slot } = selection;
  selection.check(execution);
  for (const token of tokens) checkUploaded(token, execution);
  if (fields.length === 0) return updateResult({ error: 0, denied: 0 }, 0);
  const transaction = transactionOf(execution);
  const operations: UpdateOperation[][] = rounds.map(() => []);
  const left = { error: 0, denied: 0 };
  let updated = 0;
  for (const [i, row] of (yield* selection.rows(execution)).entries()) {
    if (i > 0) yield;
    execution.run.budget.step(fields.length);
    // This read guards the document: the write holds only while it is unchanged.
    const before = transaction.get(collection, (row.slots[slot] as StoredDocument).id);
    if (before === undefined) continue;
    const edits = yield* decide({ collection, rounds, execution }, before);
    if (typeof edits === "string") {
      left[edits]++;
      continue;
    }
    updated++;
    for (const [j, round] of edits.entries()) {
      if (round.length === 0) continue;
      operations[j]?.push({ kind: "update", collection, id: before.id, edits: round });
    }
  }
  yield* applyRounds(operations, execution);
  return updateResult(left, updated);
}

/** The edits of each round, or the reason why the document stays unchanged. */
function* decide(trial: Trial, before: StoredDocument): Steps<Edit[][] | keyof LeftWhole> {
  const { collection, execution } = trial;
  const { checker } = execution;
  if (checker?.mayWrite(collection, before) === false) return "denied";
  const edits = yield* tryUpdate(trial, before);
  if (edits === undefined) return "error";
  if (checker === undefined || checker.authority.isWritingAll) return edits;
  const image = yield* triedImage(trial, before, edits);
  return checker.mayWrite(collection, image) ? edits : "denied";
}

function checkRounds(count: number, at: string): void {
  if (count <= UPDATE_ROUNDS_MAX) return;
  const expected = `at most ${UPDATE_ROUNDS_MAX} changes of one path or of paths above and below it`;
  const hint = "write the value that is meant in the end, or use several updates";
  throw new PeerError("value.invalid", `expected ${expected}, found ${count}; ${hint}`, { at });
}

/** Number of documents that stay unchanged, by reason. */
interface LeftWhole {
  readonly error: number;
  readonly denied: number;
}

function updateResult({ error, denied }: LeftWhole, updated: number): UpdateResult {
  return { method: "update", updated, error, internalError: 0, permissionDenied: denied };
}
