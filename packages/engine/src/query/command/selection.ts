/**
 * Selection: the documents that an update or a remove is about, by its filter and its arguments.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Frame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { checkArguments, requireParameters } from "../plan/parameters.ts";
import type { Execution } from "../run/execution.ts";
import type { PreparedTarget } from "../statement/find.ts";
import type { Target, WriteResult } from "./command.ts";
import { checkCollectionName, refuseUnknown } from "./known-collection.ts";
import { within, withinSteps } from "./place.ts";

/** What commands are prepared with. */
export interface CommandContext {
  /** Where the command stands in the request. */
  readonly at: string;
  /** Whether update and remove refuse a collection that is not known. */
  readonly isUnknownRefused: boolean;
  readonly prepareTarget: (collection: string, query: string) => PreparedTarget;
}

/** A command that is ready to run. */
export interface PreparedCommand<T = WriteResult> {
  readonly run: (execution: Execution) => Steps<T>;
  /** Chooses its documents and does nothing; undefined for a command that chooses none. */
  readonly choose?: (execution: Execution) => Steps<unknown>;
}

export interface Selection {
  readonly collection: string;
  readonly slot: number;
  /** Refuses a collection that nobody knows. */
  readonly check: (execution: Execution) => void;
  readonly rows: (execution: Execution) => Steps<Frame[]>;
}

export function prepareSelection(target: Target, context: CommandContext): Selection {
  const { collection, query } = target;
  const { at, isUnknownRefused } = context;
  checkCollectionName(collection, `${at}.collection`);
  const inQuery = <T>(work: () => T): T => within(`${at}.query`, work, query);
  const prepared = inQuery(() => context.prepareTarget(collection, query));
  const args = within(`${at}.args`, () => checkArguments(target.args));
  inQuery(() => requireParameters(prepared.parameters, args));
  return {
    collection,
    slot: prepared.slot,
    check: ({ view }) => {
      if (isUnknownRefused) refuseUnknown(view, collection, `${at}.collection`);
    },
    rows: (execution) => {
      const rows = prepared.rows(executionOf(execution, query, args));
      return withinSteps(`${at}.query`, rows, query);
    },
  };
}

/** Arguments are those of the command: others of the same batch have their own. */
function executionOf(execution: Execution, text: string, args: ValueObject): Execution {
  return { ...execution, text, run: { ...execution.run, args } };
}
