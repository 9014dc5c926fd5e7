/**
 * The remove command: deletes every document that a filter chooses.
 */

import { removeDocuments } from "../mutate/remove.ts";
import type { Execution } from "../run/execution.ts";
import type { RemoveCommand, RemoveResult } from "./command.ts";
import { type CommandContext, prepareSelection } from "./selection.ts";

export function prepareRemove(
  command: RemoveCommand,
  context: CommandContext,
): (execution: Execution) => RemoveResult {
  const selection = prepareSelection(command, context);
  const { collection, slot } = selection;
  return (execution) => {
    selection.check(execution);
    const rows = selection.rows(execution);
    const { ids } = removeDocuments({ collection, slot, method: "delete" }, rows, execution);
    return { method: "remove", deleted: ids.length, internalError: 0, permissionDenied: 0 };
  };
}
