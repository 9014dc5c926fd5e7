/**
 * Batch: write commands of the data API that run in one transaction, in order.
 *
 * Everything that depends on the commands alone is validated before the first of them runs. Each
 * command sees what the earlier ones wrote.
 */

import { unreachable } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { CollectionUse } from "../permission/collection-use.ts";
import type { Execution } from "../run/execution.ts";
import type { Work } from "../statement/work.ts";
import type { WriteCommand, WriteResult } from "./command.ts";
import { placed, withinSteps } from "./place.ts";
import { prepareRemove } from "./remove.ts";
import type { CommandContext, PreparedCommand } from "./selection.ts";
import { prepareUpdate } from "./update.ts";
import { prepareUpsert } from "./upsert.ts";

export type BatchContext = Omit<CommandContext, "at">;

export type PreparedBatch = Required<Work<WriteResult[]>>;

interface PlacedCommand {
  readonly at: string;
  readonly command: PreparedCommand;
}

/** Validates and compiles all commands. Throws a PeerError with the position of the error. */
export function* prepareBatch(
  commands: readonly WriteCommand[],
  context: BatchContext,
): Steps<PreparedBatch> {
  const { isUnknownRefused, texts } = context;
  const prepared: PlacedCommand[] = [];
  for (const command of commands) {
    if (prepared.length > 0) yield;
    const at = `commands[${prepared.length}]`;
    // Spelt out: a spread costs as much as all else here.
    prepared.push({ at, command: prepareCommand(command, { at, isUnknownRefused, texts }) });
  }
  const isChoosing = prepared.some(({ command }) => command.choose !== undefined);
  return {
    kind: "write",
    run: (execution) => runBatch(prepared, execution),
    choose: isChoosing ? (execution) => chooseForBatch(prepared, execution) : undefined,
    changesSettings: false,
  };
}

/** Selects the documents of all commands ahead of the write, each as if its command ran first. */
function* chooseForBatch(prepared: readonly PlacedCommand[], execution: Execution): Steps<void> {
  for (const { at, command } of prepared) {
    if (command.choose !== undefined) yield* withinSteps(at, command.choose(execution));
    yield;
  }
}

function* runBatch(prepared: readonly PlacedCommand[], execution: Execution): Steps<WriteResult[]> {
  const results: WriteResult[] = [];
  for (const { at, command } of prepared) {
    if (results.length > 0) yield;
    execution.run.budget.step();
    try {
      results.push(yield* command.run(execution));
    } catch (error) {
      throw placed(error, at);
    }
  }
  return results;
}

function prepareCommand(command: WriteCommand, context: CommandContext): PreparedCommand {
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

/** The collections that the commands read and write, for the permission check. */
export function usesOfCommands(commands: readonly WriteCommand[]): CollectionUse[] {
  return commands.flatMap(({ method, collection }, i): CollectionUse[] => {
    const at = `commands[${i}]`;
    const write: CollectionUse = { kind: "write", collection, at };
    return method === "upsert" ? [write] : [{ kind: "read", collection, at }, write];
  });
}

/** Number of commands that a label lists. */
const NAMED_MAX = 8;

/** Characters of the name of a collection in a label. */
const NAME_SHOWN_MAX = 64;

/** Label of the last batch of one command, kept for reuse. */
let lastLabel = { method: "", collection: "", label: "" };

/** Short description of the batch for the request history. */
export function labelOf(commands: readonly WriteCommand[]): string {
  const [first] = commands;
  if (first === undefined || commands.length > 1) return labelOfAll(commands);
  const { method, collection } = first;
  if (collection.length > NAME_SHOWN_MAX) return labelOfAll(commands);
  // One string for many requests: the history keeps thousands, and each would hold its own copy.
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

/** Number of documents that a batch changed. */
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
