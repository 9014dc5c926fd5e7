/**
 * Conditions: which documents of one collection a SELECT is about, ready to be asked about one
 * document, and what can be told of them without asking.
 *
 * A condition that holds `path = constant`, or `path IN constants`, can be true only for documents
 * with one of these values there. That is all that is used of it: it is evaluated as a whole
 * whenever it could be true.
 */

import { getField, isObject, type Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import type { RowDocument } from "../frame/whole-document.ts";
import type { SelectPlan } from "../plan/plan.ts";
import { bindExpression, constantScope } from "../plan/scope.ts";
import { toId } from "../run/ids.ts";
import { isQueryTerm } from "../syntax/statement-walk.ts";
import type { Expression, SelectStatement, Use } from "../syntax/tree.ts";
import { conjuncts, eachNode, readsSlot } from "../syntax/tree-walk.ts";
import { dataKey } from "../value/compare.ts";
import { type Datum, Failure, Float, isDatumArray, type Outcome } from "../value/datum.ts";

export interface ConditionPlan {
  readonly collection: string;
  /** Undefined where every document is meant. */
  readonly evaluate: Evaluate | undefined;
  /** The place of the document in a frame, and how many places there are. */
  readonly slot: number;
  readonly slots: number;
  readonly equalities: readonly Equality[];
}

/** A part of a condition: the path must hold one of the values. */
export interface Equality {
  readonly path: readonly string[];
  /** The values as keys; undefined where there is a value that has no short key, or too many. */
  readonly keys: (frame: Frame) => ReadonlySet<string> | undefined;
  /** Whether the values come with the arguments: then they are likely to differ from query to query. */
  readonly isGiven: boolean;
}

/** Every document of a collection, whatever it is read as. */
export function anyDocumentOf(collection: string): ConditionPlan {
  return { collection, evaluate: undefined, slot: 0, slots: 1, equalities: [] };
}

/**
 * The condition of a SELECT without queries inside; undefined where one document alone does not tell
 * whether it matters: with joins, and where fields are read as other types than they show.
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

/** More members of IN than these are not worth a place for each. */
const KEYS_MAX = 1024;

/** A null, MISSING or a failure is equal to nothing: it has no key and needs none. */
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

/** Longer text is rare where things are told apart by it, and would have to be gone through. */
const KEY_LENGTH_MAX = 256;

/** The same for equal values, undefined for those that are not found by a key; ids all are. */
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

/** The key of what a document holds at a path; undefined where no equality is found by it. */
export function keyAt({ id, fields }: RowDocument, path: readonly string[]): string | undefined {
  const [first = "", ...others] = path;
  let value: Value | undefined = first === "_id" ? id : getField(fields, first);
  for (const name of others) value = isObject(value) ? getField(value, name) : undefined;
  return keyOf(value, isIdPath(path));
}
