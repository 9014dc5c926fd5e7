/**
 * Feed filter: which documents a reader of changes sees, and how it sees them: the filter of the
 * request, its arguments and the read permission of the caller.
 *
 * Readers with equal filters have the same key, and share all work.
 */

import {
  getField,
  isObject,
  type MutableObject,
  setField,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { checkCollectionName } from "../query/command/known-collection.ts";
import { located, semanticFault } from "../query/fault.ts";
import { anyDocumentOf, type ConditionPlan, filterCondition } from "../query/live/condition.ts";
import type { MatchEntry, MatchIndex } from "../query/live/match-index.ts";
import type { Authority } from "../query/permission/authority.ts";
import { UNSTEADY_FUNCTIONS } from "../query/permission/permission-filter.ts";
import { checkArguments, parametersIn, requireParameters } from "../query/plan/parameters.ts";
import { parseFilter } from "../query/syntax/parse-filter.ts";
import type { Expression } from "../query/syntax/tree.ts";
import { eachNode } from "../query/syntax/tree-walk.ts";
import { dataKey, joinKeys } from "../query/value/compare.ts";
import type { ChangesRequest, ChangeView } from "./reader.ts";

export interface FeedFilter {
  readonly key: string;
  /** Undefined for all collections. */
  readonly collection: string | undefined;
  readonly query: string | undefined;
  readonly args: ValueObject;
  readonly authority: Authority | undefined;
  readonly view: ChangeView;
  /** Whether lines name the writer: the caller may read everything. */
  readonly isNamingWriters: boolean;
}

/** Throws a PeerError for a filter that is not valid. Without a rule, the caller sees no document. */
export function feedFilter(
  { collection, query, args: given, view = "document" }: ChangesRequest,
  authority: Authority | undefined,
): FeedFilter {
  if (collection !== undefined) checkCollectionName(collection, "collection");
  const args = query === undefined ? checkArguments(given) : readArguments(query, given);
  const isNarrowed = authority !== undefined && !authority.isReadingAll;
  const rule = isNarrowed ? dataKey(ruleOf(authority, collection)) : "everything";
  const named = collection === undefined ? "all" : `one ${collection}`;
  const key = joinKeys([named, query ?? "", dataKey(args), rule, view]);
  return { key, collection, query, args, authority, view, isNamingWriters: !isNarrowed };
}

/** The read permission: of the collection, or of all. */
function ruleOf(authority: Authority, collection: string | undefined): Value {
  const read = fieldOf(authority.value, "read");
  if (collection === undefined) return read;
  if (authority.readRule(collection).isWhole) return true;
  return fieldOf(fieldOf(read, "queriesByCollection"), collection);
}

function fieldOf(value: Value, name: string): Value {
  return isObject(value) ? (getField(value, name) ?? null) : null;
}

/** Compiles the filter for a collection and adds it to an index. */
export function addFilter<T>(
  index: MatchIndex<T>,
  filter: FeedFilter,
  collection: string,
  owner: T,
): MatchEntry<T> {
  const { args, authority } = filter;
  return index.add(planOf(filter, collection), { args, authority }, owner);
}

function planOf({ query }: FeedFilter, collection: string): ConditionPlan {
  return query === undefined ? anyDocumentOf(collection) : filterCondition(collection, query);
}

/** The arguments that the filter uses; compiles it once, to find its faults. */
function readArguments(query: string, given: unknown): ValueObject {
  return located(query, () => {
    const parsed = parseFilter(query);
    eachNode(parsed, refuseUnsteady);
    filterCondition("", query);
    const parameters = parametersIn(parsed);
    const checked = checkArguments(given);
    requireParameters(parameters, checked);
    const args: MutableObject = {};
    for (const { name } of parameters) setField(args, name, getField(checked, name) as Value);
    return args;
  });
}

/** A row must not enter or leave without a change. */
function refuseUnsteady(node: Expression): void {
  if (node.kind !== "call" || !UNSTEADY_FUNCTIONS.has(node.name)) return;
  const message = `expected a filter about the document alone: ${node.name} depends on the request`;
  throw semanticFault(message, node.at);
}
