/**
 * RuleKey: the values that a permission rule selects documents by, if it uses equality alone:
 * `owner == 'ada'`, `team IN ('red', 'blue')`, or both with AND.
 *
 * An index whose first keys are these paths has all allowed documents in a few ranges, and no
 * others in them. So the time of a lookup in these ranges does not depend on documents that the
 * caller may not read (P21).
 */

import { compareValues, type Path, type Value } from "@bigpeer/protocol";
import type { IndexDefinition, IndexRange } from "../../store/index-entry.ts";
import type { Bound } from "../../store/keys.ts";
import type { KnownValues } from "../frame/document-view.ts";
import { pathOf } from "../plan/reads.ts";
import type { Expression } from "../syntax/tree.ts";
import { conjuncts } from "../syntax/tree-walk.ts";

export interface RuleKey {
  readonly paths: readonly Path[];
  /** A document is allowed when its values at the paths are one of these. */
  readonly tuples: readonly (readonly Value[])[];
}

/** Limits on the tuples of a rule and their characters: index positions must not be cut (K44). */
const TUPLES_MAX = 64;
const TUPLE_LENGTH_MAX = 128;

/** The key of a bound condition on the document in the first slot; undefined if it says more. */
export function ruleKeyOf(condition: Expression): RuleKey | undefined {
  const paths: Path[] = [];
  let tuples: Value[][] = [[]];
  for (const part of conjuncts(condition)) {
    const found = equalityOf(part);
    if (found === undefined || paths.some((path) => isSamePath(path, found.path))) return undefined;
    if (tuples.length * found.values.length > TUPLES_MAX) return undefined;
    paths.push(found.path);
    tuples = tuples.flatMap((tuple) => found.values.map((value) => [...tuple, value]));
  }
  return paths.length === 0 || tuples.some(isLong) ? undefined : { paths, tuples };
}

/** The key of a rule with several queries, any of which allows a document. */
export function joinKeys(keys: readonly (RuleKey | undefined)[]): RuleKey | undefined {
  const [first] = keys;
  if (first === undefined) return undefined;
  const tuples: (readonly Value[])[] = [];
  for (const key of keys) {
    const order = key && orderOf(first.paths, key.paths);
    if (key === undefined || order === undefined) return undefined;
    for (const tuple of key.tuples) tuples.push(order.map((place) => tuple[place] as Value));
  }
  return tuples.length > TUPLES_MAX ? undefined : { paths: first.paths, tuples };
}

interface Equality {
  readonly path: Path;
  readonly values: readonly Value[];
}

function equalityOf(node: Expression): Equality | undefined {
  if (node.kind === "binary" && node.operator === "=") {
    return equality(node.left, [node.right]) ?? equality(node.right, [node.left]);
  }
  if (node.kind === "in" && !node.isNegated && node.list.kind === "array") {
    return equality(node.operand, node.list.elements);
  }
  return undefined;
}

function equality(operand: Expression, nodes: readonly Expression[]): Equality | undefined {
  const path = pathOf(operand, 0);
  if (path === undefined) return undefined;
  const values: Value[] = [];
  for (const node of nodes) {
    if (node.kind !== "literal" || !isPlain(node.value)) return undefined;
    const { value } = node;
    if (!values.some((known) => compareValues(known, value) === 0)) values.push(value);
  }
  return { path, values };
}

/** Values that are equal in an index exactly where they are equal in a condition. */
function isPlain(value: unknown): value is string | number | boolean {
  if (typeof value === "string") return value.isWellFormed();
  return typeof value === "boolean" || Number.isSafeInteger(value);
}

function isLong(tuple: readonly Value[]): boolean {
  const lengths = tuple.map((value) => (typeof value === "string" ? value.length : 9));
  return lengths.reduce((a, b) => a + b, 0) > TUPLE_LENGTH_MAX;
}

function isSamePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Positions of the wanted paths among others; undefined unless they are the same paths. */
function orderOf(wanted: readonly Path[], paths: readonly Path[]): number[] | undefined {
  const order = wanted.map((path) => paths.findIndex((other) => isSamePath(path, other)));
  return wanted.length === paths.length && !order.includes(-1) ? order : undefined;
}

/** The values of the first keys of an index in allowed documents. */
export function keyedTuples(
  { paths, tuples }: RuleKey,
  { keys }: Pick<IndexDefinition, "keys">,
): readonly (readonly Value[])[] | undefined {
  const first = keys.slice(0, paths.length).map(({ path }) => path);
  const order = orderOf(first, paths);
  return order && tuples.map((tuple) => order.map((place) => tuple[place] as Value));
}

/** The allowed parts of a range, in the order of the index. */
export function allowedRanges(
  tuples: readonly (readonly Value[])[],
  { keys }: Pick<IndexDefinition, "keys">,
  range: IndexRange,
): readonly IndexRange[] {
  const { equal = [], reverse } = range;
  const found = tuples.filter((tuple) => isInRange(tuple, range));
  const isWhole = equal.length >= (tuples[0]?.length ?? 0);
  // All of them have the values that the range names: one range is enough.
  if (isWhole) return found.length > 0 ? [range] : [];
  const side = reverse === true ? -1 : 1;
  const ordered = found.toSorted((a, b) => side * compareTuples(a, b, keys));
  return ordered.map((tuple) => ({ equal: tuple, ...(reverse === true && { reverse }) }));
}

function compareTuples(
  a: readonly Value[],
  b: readonly Value[],
  keys: IndexDefinition["keys"],
): number {
  for (const [i, value] of a.entries()) {
    const compared = compareValues(value, b[i] ?? null);
    if (compared !== 0) return keys[i]?.isDescending === true ? -compared : compared;
  }
  return 0;
}

function isInRange(tuple: readonly Value[], range: IndexRange): boolean {
  const { equal = [], low, high, startsWith } = range;
  for (const [i, value] of tuple.entries()) {
    if (i < equal.length) {
      const wanted = equal[i];
      if (wanted === undefined || compareValues(value, wanted) !== 0) return false;
    } else {
      if (i > equal.length) return true;
      if (startsWith !== undefined)
        return typeof value === "string" && value.startsWith(startsWith);
      return isAbove(value, low, 1) && isAbove(value, high, -1);
    }
  }
  return true;
}

/** Whether a value is inside a bound; `side` is 1 for lower bounds. */
function isAbove(value: Value, bound: Bound | undefined, side: 1 | -1): boolean {
  if (bound === undefined) return true;
  // MISSING is the greatest value.
  const compared = bound.value === undefined ? -1 : compareValues(value, bound.value);
  return compared === 0 ? bound.isIncluded : compared * side > 0;
}

/** The possible values at each path in allowed documents. */
export function knownValuesOf({ paths, tuples }: RuleKey): readonly KnownValues[] {
  return paths.map((path, place) => {
    const values: Value[] = [];
    for (const tuple of tuples) {
      const value = tuple[place] as Value;
      if (!values.some((known) => compareValues(known, value) === 0)) values.push(value);
    }
    return { path, values };
  });
}
