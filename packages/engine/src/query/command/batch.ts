/**
 * Batch: commands that are written together, in one transaction and in their order.
 *
 * All that the commands alone can get wrong is found before the first of them runs. Then each sees
 * what those before it wrote.
 */

import { unreachable } from "@bigpeer/protocol";
import type { CollectionUse } from "../permission/collection-use.ts";
import type { Execution } from "../run/execution.ts";
import type { WriteCommand, WriteResult } from "./command.ts";
import { within } from "./place.ts";
import { prepareRemove } from "./remove.ts";
import type { CommandContext } from "./selection.ts";
import { prepareUpdate } from "./update.ts";
import { prepareUpsert } from "./upsert.ts";

export type BatchContext = Omit<CommandContext, "at">;

export type PreparedBatch = (execution: Execution) => WriteResult[];

/** Throws a PeerError with the place of what is wrong. */
export function prepareBatch(
  commands: readonly WriteCommand[],
  context: BatchContext,
): PreparedBatch {
  const { isUnknownRefused, prepareTarget } = context;
  const prepared = commands.map((command, i) => {
    const at = `commands[${i}]`;
    // Spelt out: a spread costs as much as all else here.
    return { at, run: prepareCommand(command, { at, isUnknownRefused, prepareTarget }) };
  });
  return (execution) =>
    prepared.map(({ at, run }) => {
      execution.run.budget.step();
      return within(at, () => run(execution));
    });
}

function prepareCommand(
  command: WriteCommand,
  context: CommandContext,
): (execution: Execution) => WriteResult {
  switch (command.method) {
    case "upsert":
      return prepareUpsert(command, context);
    case "update":
      return prepareUpdate(command, context);
    case "remove":
      return prepareRemove(command, context);
    default:
      return unreachable(command);
  }
}

/** Which collections the commands name, and what for. */
export function usesOfCommands(commands: readonly WriteCommand[]): CollectionUse[] {
  return commands.flatMap(({ method, collection }, i): CollectionUse[] => {
    const at = `commands[${i}]`;
    const write: CollectionUse = { kind: "write", collection, at };
    return method === "upsert" ? [write] : [{ kind: "read", collection, at }, write];
  });
}

/** Commands that a label names. */
const NAMED_MAX = 8;

/** Characters of the name of a collection in a label. */
const NAME_SHOWN_MAX = 64;

/** The label of the last command that came alone. */
let lastLabel = { method: "", collection: "", label: "" };

/** The batch in a few words, for the history of requests. */
export function labelOf(commands: readonly WriteCommand[]): string {
  const [first] = commands;
  if (first === undefined || commands.length > 1) return labelOfAll(commands);
  const { method, collection } = first;
  if (collection.length > NAME_SHOWN_MAX) return labelOfAll(commands);
  // One text for many requests: the history keeps thousands, and each would hold one of its own.
  if (method !== lastLabel.method || collection !== lastLabel.collection) {
    lastLabel = { method, collection, label: labelOfAll(commands) };
  }
  return lastLabel.label;
}

function labelOfAll(commands: readonly WriteCommand[]): string {
  let label = "write:";
  for (const [i, { method, collection }] of commands.entries()) {
    if (i === NAMED_MAX) return `${label} and ${commands.length - NAMED_MAX} more`;
    label += `${i === 0 ? "" : ","} ${method} ${collection.slice(0, NAME_SHOWN_MAX)}`;
  }
  return label;
}

/** How many documents a batch changed. */
export function documentsOf(results: readonly WriteResult[]): number {
  return results.reduce((sum, result) => sum + documentsOfResult(result), 0);
}

function documentsOfResult(result: WriteResult): number {
  switch (result.method) {
    case "upsert":
      return 1;
    case "update":
      return result.updated;
    case "remove":
      return result.deleted;
    default:
      return unreachable(result);
  }
}
