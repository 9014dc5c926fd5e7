/**
 * provision: creates the indexes that ADVISE suggests, as far as their collections can have them.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { INDEXES_MAX } from "../../limits.ts";
import { FIRST_PIECE } from "../../store/index-builder.ts";
import type { IndexDefinition } from "../../store/index-entry.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { Steps } from "../frame/steps.ts";
import type { Advice } from "../run/plan-explainer.ts";

/** Returns what was done, for the row of ADVISE. */
export function* provision({ suggested }: Advice, transaction: Transaction): Steps<ValueObject> {
  const created: ValueObject[] = [];
  const failed: ValueObject[] = [];
  for (const { collection, name, keys } of suggested) {
    const index = { collection, name };
    const reason = refusalOf(transaction.view.indexes(collection), name);
    if (reason === undefined) {
      const operation = { kind: "create_index", collection, name, keys } as const;
      yield* transaction.applyInSteps([{ ...operation, limit: FIRST_PIECE }]);
      created.push(index);
    } else failed.push({ ...index, reason: `${collection} ${reason}` });
  }
  return {
    ...(created.length > 0 && { createdIndexes: created }),
    ...(failed.length > 0 && { failedIndexes: failed }),
  };
}

/** Reason why the collection cannot have an index of this name; undefined if it can. */
function refusalOf(known: readonly IndexDefinition[], name: string): string | undefined {
  if (known.some((index) => index.name === name)) return `has an index named ${name} already`;
  return known.length < INDEXES_MAX ? undefined : `has ${INDEXES_MAX} indexes, which is all it may`;
}
