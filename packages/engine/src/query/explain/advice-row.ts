/**
 * adviceRow: the row that ADVISE returns, with indexes as the statements that create them.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Advice, SuggestedIndex } from "../run/plan-explainer.ts";
import { printStatement } from "../syntax/print.ts";
import type { CreateIndexStatement, Statement } from "../syntax/tree.ts";

export function adviceRow(statement: Statement, advice: Advice, done: ValueObject = {}): Value {
  const { existing, suggested } = advice;
  const outcome = outcomeOf(advice);
  return {
    advice: {
      statement: printStatement(statement),
      ...(existing.length > 0 && { existingIndexes: existing.map(existingIndex) }),
      ...(suggested.length > 0 && { suggestedIndexes: suggested.map(suggestedIndex) }),
      ...(outcome !== undefined && { outcome }),
      ...done,
    },
  };
}

function outcomeOf({ hasTerms, existing, suggested }: Advice): string | undefined {
  if (suggested.length > 0) return undefined;
  if (existing.length > 0) return "optimal indexes already exist";
  return hasTerms ? "no keys to advise on" : "no advice available for statement";
}

function existingIndex(index: SuggestedIndex): ValueObject {
  return { collection: index.collection, statement: definitionOf(index) };
}

function suggestedIndex(index: SuggestedIndex): ValueObject {
  const { collection, reason } = index;
  return { collection, reason, statement: definitionOf(index) };
}

function definitionOf({ collection, name, keys }: SuggestedIndex): string {
  const statement: CreateIndexStatement = {
    kind: "create_index",
    name,
    collection: { name: collection, at: 0 },
    keys,
    ifNotExists: false,
    at: 0,
  };
  return printStatement(statement);
}
