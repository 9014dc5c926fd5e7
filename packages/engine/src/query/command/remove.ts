/**
 * The remove command of the data API: deletes every document that matches a filter and that the
 * caller may write.
 */

import type { StoredDocument } from "../../store/view.ts";
import type { Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { transactionOf } from "../mutate/application.ts";
import { removeDocuments } from "../mutate/remove.ts";
import type { Execution } from "../run/execution.ts";
import type { RemoveCommand, RemoveResult } from "./command.ts";
import {
  type CommandContext,
  type PreparedCommand,
  prepareSelection,
  type Selection,
} from "./selection.ts";

export function prepareRemove(
  command: RemoveCommand,
  context: CommandContext,
): PreparedCommand<RemoveResult> {
  const selection = prepareSelection(command, context);
  return { run: (execution) => runRemove(selection, execution), choose: selection.rows };
}

function* runRemove(selection: Selection, execution: Execution): Steps<RemoveResult> {
  const { collection, slot } = selection;
  selection.check(execution);
  const rows = yield* selection.rows(execution);
  const { checker } = execution;
  const mayRemove = (row: Frame): boolean => {
    if (checker === undefined || checker.authority.isWritingAll) return true;
    const { id } = row.slots[slot] as StoredDocument;
    // The row holds the id only. This read guards the document.
    const before = transactionOf(execution).get(collection, id);
    return before === undefined || checker.mayWrite(collection, before);
  };
  const allowed: Frame[] = [];
  for (const row of rows) {
    if (mayRemove(row)) allowed.push(row);
    yield;
  }
  const plan = { collection, slot, method: "delete" } as const;
  const { ids } = yield* removeDocuments(plan, allowed, execution);
  const permissionDenied = rows.length - allowed.length;
  return { method: "remove", deleted: ids.length, internalError: 0, permissionDenied };
}
