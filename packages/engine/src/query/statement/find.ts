/**
 * Find: compiles a filter of the data API (`find`, `count`, and the target of `update` and
 * `remove`) into a selection of documents.
 *
 * The filter has a language of its own. It parses to the same expressions as the condition of a
 * statement, so planning and execution are shared.
 */

import { PeerError } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { Fault, locate } from "../fault.ts";
import type { Frame } from "../frame/frame.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { parametersIn } from "../plan/parameters.ts";
import type { Execution } from "../run/execution.ts";
import type { PlanOutline } from "../run/plan-explainer.ts";
import type { Window } from "../run/sort.ts";
import { parseFilter, parseFilterPath } from "../syntax/parse-filter.ts";
import type { Expression, OrderTerm, ParameterNode } from "../syntax/tree.ts";
import { type Choice, type ChoiceOptions, compileChoiceInSteps } from "./choice.ts";

export interface FilterQuery {
  readonly collection: string;
  readonly query: string;
  readonly sort?: readonly SortKey[];
}

export interface SortKey {
  /** Path of a field: `a.b`, `a[0]`. */
  readonly property: string;
  readonly isDescending: boolean;
}

/** A filter as the request history shows it. */
export function filterLabel({ collection, query }: FilterQuery): string {
  return `${collection}: ${query}`;
}

export interface PreparedFind {
  readonly label: string;
  readonly parameters: readonly ParameterNode[];
  readonly plan: PlanOutline;
  readonly documents: (execution: Execution, window: Window) => Steps<StoredDocument[]>;
  readonly count: (execution: Execution) => Steps<number>;
}

/** Throws a Fault for an invalid filter, a PeerError for an invalid sort path. */
export function* prepareFind(filter: FilterQuery): Steps<PreparedFind> {
  const { parameters, choice } = yield* prepareFilter(filter, { purpose: "read", hasLimit: true });
  const { slot } = choice.source;
  const documents: PreparedFind["documents"] = function* documents(execution, window) {
    const frames = yield* choice.rows(execution, window);
    return frames.map(({ slots }) => slots[slot] as StoredDocument);
  };
  const plan = { kind: "choice", choice, operator: undefined } as const;
  return { label: filterLabel(filter), parameters, plan, documents, count: choice.count };
}

/** The documents that a command changes. Only ids are kept: the command reads each one in turn. */
export interface PreparedTarget {
  readonly parameters: readonly ParameterNode[];
  /** Slot of the document in a row. */
  readonly slot: number;
  readonly rows: (execution: Execution) => Steps<Frame[]>;
}

/** Throws a Fault for an invalid filter. */
export function prepareTarget(collection: string, query: string): PreparedTarget {
  const options = { purpose: "write", isIdsOnly: true } as const;
  const { parameters, choice } = finish(prepareFilter({ collection, query }, options));
  return { parameters, slot: choice.source.slot, rows: choice.rows };
}

interface PreparedFilter {
  readonly parameters: readonly ParameterNode[];
  readonly choice: Choice;
}

function* prepareFilter(filter: FilterQuery, options: ChoiceOptions): Steps<PreparedFilter> {
  const { collection, query, sort = [] } = filter;
  const where = parseFilter(query);
  yield;
  const orderBy = sort.map(
    ({ property, isDescending }, index): OrderTerm => ({
      expression: parseSortPath(property, `sort[${index}].property`),
      isDescending,
    }),
  );
  const term = { collection: { name: collection, at: 0 }, isUnnamed: true } as const;
  const choice = yield* compileChoiceInSteps({ term, where, orderBy }, options);
  return { parameters: parametersIn(where), choice };
}

/** Parses a sort path. Errors name the sort key: an offset alone would point into the filter. */
function parseSortPath(property: string, at: string): Expression {
  try {
    return parseFilterPath(property);
  } catch (error) {
    const inText = locate(error, property);
    if (!(error instanceof Fault) || !(inText instanceof PeerError)) throw error;
    const { code, message, expected } = error;
    const { place } = inText;
    const where = inText.at === undefined ? at : `${at}, ${inText.at}`;
    throw new PeerError(code, message, { at: where, place, expected });
  }
}
