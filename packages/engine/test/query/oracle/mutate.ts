/**
 * The slow obvious evaluator: UPDATE and DELETE of top-level scalars.
 */
import type { Value, ValueObject } from "@bigpeer/protocol";
import type { Run } from "../../../src/query/frame/frame.ts";
import type {
  RemoveStatement,
  Selection,
  UpdateStatement,
} from "../../../src/query/syntax/tree.ts";
import { Failure, toValue } from "../../../src/query/value/datum.ts";
import { evaluate, holds, type Scope } from "./expression.ts";
import { compareKeys } from "./order.ts";
import { type Documents, queryRows } from "./select.ts";

export interface MutationWorld {
  readonly run: Run;
  readonly all: Documents;
}

export interface Mutated {
  /** What the collection holds afterwards. */
  readonly documents: readonly ValueObject[];
  readonly ids: readonly Value[];
}

/** Undefined when the statement must be refused, which leaves everything as it was. */
export function mutate(
  statement: UpdateStatement | RemoveStatement,
  documents: readonly ValueObject[],
  world: MutationWorld,
): Mutated | undefined {
  const chosen = new Set(choose(statement, documents, world));
  const ids = [...chosen].map((document) => document["_id"] ?? null);
  if (statement.kind === "remove") {
    return { documents: documents.filter((document) => !chosen.has(document)), ids };
  }
  const after: ValueObject[] = [];
  for (const document of documents) {
    const changed = chosen.has(document) ? change(statement, document, world) : document;
    if (changed === undefined) return undefined;
    after.push(changed);
  }
  return { documents: after, ids };
}

function scopeOf({ term }: Selection, document: ValueObject, world: MutationWorld): Scope {
  const alias = term.alias ?? term.collection.name;
  const { run, all } = world;
  return {
    run,
    documents: new Map([[alias, document]]),
    variables: [],
    // Queries see what was there before the statement.
    rowsOf: (query, around) => queryRows(query, all, run, around).runs.flat(),
  };
}

function choose(
  statement: Selection,
  documents: readonly ValueObject[],
  world: MutationWorld,
): ValueObject[] {
  const { where, orderBy, limit, offset } = statement;
  const found = documents.filter(
    (document) => where === undefined || holds(where, scopeOf(statement, document, world)),
  );
  const keyOf = (document: ValueObject): (Value | undefined)[] =>
    orderBy.map(({ expression }) => {
      const key = evaluate(expression, scopeOf(statement, document, world));
      return key instanceof Failure ? null : key === undefined ? undefined : toValue(key);
    });
  const sorted = found.toSorted((a, b) => compareKeys(keyOf(a), keyOf(b), orderBy));
  const bound = (node: typeof limit, absent: number): number =>
    node?.kind === "literal" ? Number(node.value) : absent;
  const start = bound(offset, 0);
  return sorted.slice(start, start + bound(limit, sorted.length));
}

/** Right sides see the document as it was. */
function change(
  statement: UpdateStatement,
  document: ValueObject,
  world: MutationWorld,
): ValueObject | undefined {
  const fields = new Map(Object.entries(document));
  for (const { path, value } of statement.set) {
    const outcome = evaluate(value, scopeOf(statement, document, world));
    if (outcome instanceof Failure || outcome === undefined) return undefined;
    fields.set(path.join("."), toValue(outcome));
  }
  for (const { path } of statement.unset) fields.delete(path.join("."));
  return Object.fromEntries(fields);
}
