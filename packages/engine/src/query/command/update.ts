/**
 * The update command: field edits on every document that a filter chooses.
 *
 * A document takes all of them or none: for each it is decided before the first is written.
 */

import { PeerError, type UpdateOperation } from "@bigpeer/protocol";
import { UPDATE_ROUNDS_MAX } from "../../limits.ts";
import type { StoredDocument } from "../../store/view.ts";
import { applyOperations, transactionOf } from "../mutate/application.ts";
import type { Execution } from "../run/execution.ts";
import { checkUploaded } from "./attachment-token.ts";
import type { UpdateCommand, UpdateResult } from "./command.ts";
import { fieldEdit } from "./field-edit.ts";
import { type CommandContext, prepareSelection } from "./selection.ts";
import { tryUpdate } from "./trial.ts";
import { roundsOf } from "./update-round.ts";

export function prepareUpdate(
  command: UpdateCommand,
  context: CommandContext,
): (execution: Execution) => UpdateResult {
  const selection = prepareSelection(command, context);
  const { collection, slot } = selection;
  const fields = command.commands.map((each, i) => fieldEdit(each, `${context.at}.commands[${i}]`));
  const tokens = fields.flatMap((field) => (field.kind === "fixed" ? (field.token ?? []) : []));
  const rounds = roundsOf(fields);
  checkRounds(rounds.length, `${context.at}.commands`);
  return (execution) => {
    selection.check(execution);
    for (const token of tokens) checkUploaded(token, execution.view);
    if (fields.length === 0) return updateResult(0, 0);
    const transaction = transactionOf(execution);
    const operations: UpdateOperation[][] = rounds.map(() => []);
    let updated = 0;
    let error = 0;
    for (const row of selection.rows(execution)) {
      execution.run.budget.step(fields.length);
      // The write rests on what was read.
      const before = transaction.get(collection, (row.slots[slot] as StoredDocument).id);
      if (before === undefined) continue;
      const edits = tryUpdate({ collection, rounds, execution }, before);
      if (edits === undefined) {
        error++;
        continue;
      }
      updated++;
      for (const [i, round] of edits.entries()) {
        if (round.length === 0) continue;
        operations[i]?.push({ kind: "update", collection, id: before.id, edits: round });
      }
    }
    for (const round of operations) {
      execution.run.budget.look();
      applyOperations(round, execution);
    }
    return updateResult(updated, error);
  };
}

function checkRounds(count: number, at: string): void {
  if (count <= UPDATE_ROUNDS_MAX) return;
  const expected = `at most ${UPDATE_ROUNDS_MAX} changes of one path or of paths above and below it`;
  const hint = "write the value that is meant in the end, or use several updates";
  throw new PeerError("value.invalid", `expected ${expected}, found ${count}; ${hint}`, { at });
}

function updateResult(updated: number, error: number): UpdateResult {
  return { method: "update", updated, error, internalError: 0, permissionDenied: 0 };
}
