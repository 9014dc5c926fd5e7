/**
 * Selection: the documents that match the filter of an update or remove command, with the arguments
 * of that command.
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

/** Context in which commands are prepared. */
export interface CommandContext {
  /** Position of the command in the request, for errors. */
  readonly at: string;
  /** Whether update and remove reject an unknown collection. */
  readonly isUnknownRefused: boolean;
  readonly texts: TargetTexts;
}

/** Prepared filters of commands, by their text. */
export interface TargetTexts {
  target(collection: string, query: string): PreparedTarget;
}

/** A validated command, ready to run. */
export interface PreparedCommand<T = WriteResult> {
  readonly run: (execution: Execution) => Steps<T>;
  /** Selects its documents and writes nothing; undefined if it selects none. */
  readonly choose?: (execution: Execution) => Steps<unknown>;
}

export interface Selection {
  readonly collection: string;
  readonly slot: number;
  /** Throws for an unknown collection, if the context rejects those. */
  readonly check: (execution: Execution) => void;
  readonly rows: (execution: Execution) => Steps<Frame[]>;
}

export function prepareSelection(target: Target, context: CommandContext): Selection {
  const { collection, query } = target;
  const { at, isUnknownRefused } = context;
  checkCollectionName(collection, `${at}.collection`);
  const inQuery = <T>(work: () => T): T => within(`${at}.query`, work, query);
  const prepared = inQuery(() => context.texts.target(collection, query));
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

/** The arguments of this command; other commands of the batch have their own. */
function executionOf(execution: Execution, text: string, args: ValueObject): Execution {
  return { ...execution, text, run: { ...execution.run, args } };
}
