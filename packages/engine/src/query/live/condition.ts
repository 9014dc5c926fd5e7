/**
 * ConditionPlan: predicate of a SELECT on one collection, compiled to test single documents, with
 * the equalities by which an index of conditions can find it.
 *
 * A condition with `path = constant` or `path IN constants` can be true only for documents with one
 * of these values there. The equality only preselects: the condition is evaluated as a whole
 * whenever it could be true.
 */

import { getField, isObject, type Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { SelectPlan } from "../plan/plan.ts";
import { bindExpression, constantScope, Slots } from "../plan/scope.ts";
import { toId } from "../run/ids.ts";
import { parseFilter } from "../syntax/parse-filter.ts";
import { isQueryTerm } from "../syntax/statement-walk.ts";
import type { Expression, SelectStatement, Use } from "../syntax/tree.ts";
import { conjuncts, eachNode, readsSlot } from "../syntax/tree-walk.ts";
import { dataKey } from "../value/compare.ts";
import { type Datum, Failure, Float, isDatumArray, type Outcome } from "../value/datum.ts";

export interface ConditionPlan {
  readonly collection: string;
  /** Undefined if the condition includes every document. */
  readonly evaluate: Evaluate | undefined;
  /** The slot of the document in a frame, and the number of slots. */
  readonly slot: number;
  readonly slots: number;
  readonly equalities: readonly Equality[];
}

/** A part of a condition: the path must hold one of the values. */
export interface Equality {
  readonly path: readonly string[];
  /** The values as keys; undefined if a value has no short key, or if there are too many. */
  readonly keys: (frame: Frame) => ReadonlySet<string> | undefined;
  /** Whether the values are arguments, which probably differ from query to query. */
  readonly isGiven: boolean;
}

/** Every document of a collection, with any declared types. */
export function anyDocumentOf(collection: string): ConditionPlan {
  return { collection, evaluate: undefined, slot: 0, slots: 1, equalities: [] };
}

/**
 * The condition of a SELECT without subqueries. Undefined if one document alone does not decide
 * whether it matters: with joins, and with declared types.
 */
export function conditionOf(plan: SelectPlan, select: SelectStatement): ConditionPlan | undefined {
  const { source, joins, where } = plan.rows;
  const { collection, types, slot } = source;
  if (collection.kind !== "stored" || joins.length > 0 || types !== undefined) return undefined;
  const equalities = conjuncts(where).flatMap((part) => equalityOf(part, slot));
  const named = namedIds(isQueryTerm(select.from) ? undefined : select.from.use);
  return {
    collection: collection.name,
    evaluate: where && compile(where),
    slot,
    slots: plan.slots,
    equalities: named === undefined ? equalities : [named, ...equalities],
  };
}

/** The condition of a filter of the data API. Throws a Fault. */
export function filterCondition(collection: string, text: string): ConditionPlan {
  const slots = new Slots();
  const slot = slots.take();
  const terms = [{ alias: "", slot, isUnnamed: true }];
  const where = bindExpression(parseFilter(text), { slots, terms, variables: [] });
  const equalities = conjuncts(where).flatMap((part) => equalityOf(part, slot));
  return { collection, evaluate: compile(where), slot, slots: slots.count, equalities };
}

const ID_PATH = ["_id"];

/** USE IDS: no other document can be in the result. */
function namedIds(use: Use | undefined): Equality | undefined {
  if (use?.kind !== "ids" && use?.kind !== "id_list") return undefined;
  const nodes = use.kind === "ids" ? use.ids : [use.list];
  const values = nodes.map((node) => compile(bindExpression(node, constantScope())));
  const keys: Equality["keys"] = (frame) => {
    const outcomes = values.map((value) => value(frame));
    const [list] = outcomes;
    const named = use.kind === "ids" ? outcomes : isDatumArray(list) ? list : [];
    return keysOf(
      named.map((outcome) => toId(outcome)?.id),
      true,
    );
  };
  return { path: ID_PATH, keys, isGiven: nodes.some(hasParameter) };
}

function equalityOf(part: Expression, slot: number): Equality[] {
  if (part.kind === "binary" && part.operator === "=") {
    return [...equalTo(part.left, part.right, slot), ...equalTo(part.right, part.left, slot)];
  }
  if (part.kind !== "in" || part.isNegated) return [];
  const path = pathOf(part.operand, slot);
  if (path === undefined || !isConstant(part.list)) return [];
  const list = compile(part.list);
  const keys: Equality["keys"] = (frame) => {
    const members = list(frame);
    return keysOf(isDatumArray(members) ? members : [], isIdPath(path));
  };
  return [{ path, keys, isGiven: hasParameter(part.list) }];
}

function equalTo(side: Expression, other: Expression, slot: number): Equality[] {
  const path = pathOf(side, slot);
  if (path === undefined || !isConstant(other)) return [];
  const value = compile(other);
  const keys: Equality["keys"] = (frame) => keysOf([value(frame)], isIdPath(path));
  return [{ path, keys, isGiven: hasParameter(other) }];
}

/** The names of the fields from the document down; undefined for everything else. */
function pathOf(node: Expression, slot: number): readonly string[] | undefined {
  const path: string[] = [];
  let at = node;
  for (; at.kind === "field"; at = at.of) path.unshift(at.name);
  const isDocument = at.kind === "slot" && at.holds === "document" && at.slot === slot;
  return isDocument && path.length > 0 ? path : undefined;
}

function isIdPath(path: readonly string[]): boolean {
  return path.length === 1 && path[0] === "_id";
}

/** Known as soon as the arguments are. */
function isConstant(node: Expression): boolean {
  return !readsSlot(node, () => true);
}

function hasParameter(node: Expression): boolean {
  let isFound = false;
  eachNode(node, ({ kind }) => {
    isFound ||= kind === "parameter";
  });
  return isFound;
}

/** Limit on members of IN that each get an index entry. */
const KEYS_MAX = 1024;

/** Null, MISSING and a failure equal nothing, so they need no key. */
function keysOf(outcomes: readonly Outcome[], isId: boolean): ReadonlySet<string> | undefined {
  if (outcomes.length > KEYS_MAX) return undefined;
  const keys = new Set<string>();
  for (const outcome of outcomes) {
    if (isNothing(outcome)) continue;
    const key = keyOf(outcome, isId);
    if (key === undefined) return undefined;
    keys.add(key);
  }
  return keys;
}

function isNothing(outcome: Outcome): boolean {
  return outcome === undefined || outcome === null || outcome instanceof Failure;
}

/** Limit on text keys: longer text rarely identifies anything, and hashing it costs. */
const KEY_LENGTH_MAX = 256;

/** The same for equal values; undefined for values without a key. Ids always have one. */
function keyOf(value: Outcome, isId: boolean): string | undefined {
  switch (typeof value) {
    case "string":
      return isId || value.length <= KEY_LENGTH_MAX ? dataKey(value) : undefined;
    case "number":
    case "bigint":
    case "boolean":
      return dataKey(value);
    default: {
      if (isNothing(value)) return undefined;
      return isId || value instanceof Float ? dataKey(value as Datum) : undefined;
    }
  }
}

/** The key of the value at a path of a document; undefined if no equality can find it. */
export function keyAt({ id, fields }: RowDocument, path: readonly string[]): string | undefined {
  const [first = "", ...others] = path;
  let value: Value | undefined = first === "_id" ? id : getField(fields, first);
  for (const name of others) value = isObject(value) ? getField(value, name) : undefined;
  return keyOf(value, isIdPath(path));
}
