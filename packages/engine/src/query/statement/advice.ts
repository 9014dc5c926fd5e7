/**
 * ADVISE statement: suggests indexes for a statement and lists the existing ones that it uses. AND
 * PROVISION creates the suggested indexes.
 */

import type { Value, ValueObject } from "@bigpeer/protocol";
import { INDEXES_MAX } from "../../limits.ts";
import { FIRST_PIECE } from "../../store/index-builder.ts";
import type { IndexDefinition } from "../../store/index-entry.ts";
import { semanticFault } from "../fault.ts";
import { transactionOf } from "../mutate/application.ts";
import { type AdvisedTerm, adviseTerm, type SuggestedIndex } from "../plan/advice.ts";
import { type Choosing, explainedChoosing } from "../run/choose.ts";
import { printStatement } from "../syntax/print.ts";
import type { AdviseStatement, CreateIndexStatement } from "../syntax/tree.ts";
import { type Prepared, type RunWork, slowRead } from "./work.ts";

export function advisePrepared(advise: AdviseStatement, inner: Prepared): Prepared {
  const { statement, isProvision, at } = advise;
  if (inner.plan === undefined || statement.kind === "profile" || statement.kind === "explain") {
    throw semanticFault(`ADVISE expects a statement with a plan, found ${statement.kind}`, at);
  }
  const terms = inner.terms ?? [];
  const text = printStatement(statement);
  if (!isProvision) {
    return slowRead(function* advised(execution) {
      const { view } = yield* explainedChoosing(execution);
      return [adviceRow(text, adviceFor(terms, view))];
    });
  }
  const run: RunWork = function* run(execution) {
    const transaction = transactionOf(execution);
    const advice = adviceFor(terms, execution.view);
    const created: ValueObject[] = [];
    const failed: ValueObject[] = [];
    for (const { collection, name, keys } of advice.suggested) {
      const index = { collection, name };
      const reason = refusalOf(transaction.view.indexes(collection), name);
      if (reason === undefined) {
        const operation = { kind: "create_index", collection, name, keys } as const;
        yield* transaction.applyInSteps([{ ...operation, limit: FIRST_PIECE }]);
        created.push(index);
      } else failed.push({ ...index, reason: `${collection} ${reason}` });
    }
    const done = {
      ...(created.length > 0 && { createdIndexes: created }),
      ...(failed.length > 0 && { failedIndexes: failed }),
    };
    return { items: [adviceRow(text, advice, done)], ids: [] };
  };
  return { queryType: "select", work: { kind: "write", run }, plan: undefined };
}

/** Reason why the collection cannot have an index of this name; undefined if it can. */
function refusalOf(known: readonly IndexDefinition[], name: string): string | undefined {
  if (known.some((index) => index.name === name)) return `has an index named ${name} already`;
  return known.length < INDEXES_MAX ? undefined : `has ${INDEXES_MAX} indexes, which is all it may`;
}

interface Advice {
  readonly hasTerms: boolean;
  readonly existing: readonly SuggestedIndex[];
  readonly suggested: readonly SuggestedIndex[];
}

function adviceFor(terms: readonly AdvisedTerm[], view: Choosing["view"]): Advice {
  const existing = new Map<string, SuggestedIndex>();
  const suggested = new Map<string, SuggestedIndex>();
  for (const term of terms) {
    const { collection } = term.source;
    if (collection.kind !== "stored") continue;
    const advice = adviseTerm(term, view.indexesOf(collection.name));
    for (const index of advice.existing) {
      existing.set(JSON.stringify([index.collection, index.name]), { ...index, reason: "" });
    }
    for (const index of advice.suggested) {
      suggested.set(JSON.stringify([index.collection, index.keys]), index);
    }
  }
  return {
    hasTerms: terms.length > 0,
    existing: [...existing.values()],
    suggested: [...suggested.values()],
  };
}

function adviceRow(statement: string, advice: Advice, done: ValueObject = {}): Value {
  const { existing, suggested } = advice;
  const outcome = outcomeOf(advice);
  return {
    advice: {
      statement,
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
