/**
 * Find: the documents of a collection that a filter of the data API chooses.
 *
 * The filter is written in the small language of `query` or as a condition of the statement
 * language; both become the same expressions, so planning and running are those of statements.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { located } from "../fault.ts";
import { explainRows, explainSequence } from "../plan/explain.ts";
import { parametersIn } from "../plan/parameters.ts";
import type { Execution } from "../run/execution.ts";
import type { Window } from "../run/sort.ts";
import { parseFilter, parseFilterPath } from "../syntax/parse-filter.ts";
import type { OrderTerm, ParameterNode } from "../syntax/tree.ts";
import { compileChoice } from "./choice.ts";

export interface FilterQuery {
  readonly collection: string;
  readonly query: string;
  readonly sort?: readonly SortKey[];
}

export interface SortKey {
  /** A path: `a.b`, `a[0]`. */
  readonly property: string;
  readonly isDescending: boolean;
}

export interface PreparedFind {
  readonly parameters: readonly ParameterNode[];
  readonly plan: () => ValueObject;
  readonly documents: (
    execution: Execution,
    window: Window,
  ) => Generator<void, StoredDocument[], void>;
}

/** Throws a Fault when the filter or a path cannot be read. */
export function prepareFind({ collection, query, sort = [] }: FilterQuery): PreparedFind {
  const where = parseFilter(query);
  const orderBy = sort.map(
    ({ property, isDescending }): OrderTerm => ({
      expression: located(property, () => parseFilterPath(property)),
      isDescending,
    }),
  );
  const term = { collection: { name: collection, at: 0 } };
  const choice = compileChoice({ term, where, orderBy }, { purpose: "read" });
  const { slot } = choice.source;
  const documents: PreparedFind["documents"] = function* documents(execution, window) {
    const frames = yield* choice.rows(execution, window);
    return frames.map(({ slots }) => slots[slot] as StoredDocument);
  };
  const plan = (): ValueObject => explainSequence(explainRows(choice.plan));
  return { parameters: parametersIn(where), plan, documents };
}
