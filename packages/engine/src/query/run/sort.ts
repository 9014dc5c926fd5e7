/**
 * compileSorter, compileWindow: sort keys of ORDER BY, and the window of LIMIT and OFFSET.
 */

import { compile } from "../compile/expression.ts";
import { semanticFault } from "../fault.ts";
import type { Evaluate, Frame } from "../frame/frame.ts";
import type { Expression, OrderTerm } from "../syntax/tree.ts";
import { compareData } from "../value/compare.ts";
import { type Datum, Failure, isInteger, MISSING, type Outcome } from "../value/datum.ts";

/** Order of one key of two rows: below 0 when the first row comes first. */
export type Comparison = (a: Datum, b: Datum) => number;

export interface Sorter {
  /** One for each term; where all give 0, rows keep their order of arrival. */
  readonly comparisons: readonly Comparison[];
  /** Whether the first term is DESC. */
  readonly isDescending: boolean;
  /** A key that fails counts as null. */
  readonly keysOf: (frame: Frame) => readonly Datum[];
  /** The keys of a row that comes before one with the keys `last`; undefined for all others. */
  readonly keysBefore: (frame: Frame, last: readonly Datum[]) => readonly Datum[] | undefined;
}

export function compileSorter(terms: readonly OrderTerm[]): Sorter | undefined {
  if (terms.length === 0) return undefined;
  const keys = terms.map(({ expression }) => compile(expression));
  const comparisons = terms.map(comparisonOf);
  return {
    comparisons,
    isDescending: terms[0]?.isDescending === true,
    keysOf: compileKeys(keys),
    keysBefore: compileBefore(keys, comparisons),
  };
}

function compileKeys(keys: readonly Evaluate[]): Sorter["keysOf"] {
  const [only, ...others] = keys;
  if (only !== undefined && others.length === 0) return (frame) => [settled(only(frame))];
  return (frame) => keys.map((key) => settled(key(frame)));
}

/** Keys after the one that rejects a row are not computed. */
function compileBefore(
  keys: readonly Evaluate[],
  comparisons: readonly Comparison[],
): Sorter["keysBefore"] {
  return (frame, last) => {
    let found: Datum[] | undefined;
    let isBefore = false;
    for (let i = 0; i < keys.length; i++) {
      const key = settled((keys[i] as Evaluate)(frame));
      if (!isBefore) {
        const order = (comparisons[i] as Comparison)(key, last[i]);
        if (order > 0) return undefined;
        isBefore = order < 0;
      }
      if (found === undefined) found = [key];
      else found.push(key);
    }
    return isBefore ? found : undefined;
  };
}

/** NULLS FIRST or LAST places null and MISSING; among themselves the direction decides. */
export function comparisonOf({ isDescending, nulls }: OrderTerm): Comparison {
  const directed: Comparison = isDescending ? (a, b) => compareData(b, a) : compareData;
  if (nulls === undefined) return directed;
  const side = nulls === "first" ? -1 : 1;
  return (a, b) => {
    const isNullA = a === null || a === MISSING;
    const isNullB = b === null || b === MISSING;
    if (isNullA === isNullB) return directed(a, b);
    return isNullA ? side : -side;
  };
}

function settled(outcome: Outcome): Datum {
  return outcome instanceof Failure ? null : outcome;
}

export interface Window {
  readonly offset: number;
  readonly limit: number;
}

/** How many rows, from the first one on, must be known for the result. */
export function rowsWanted({ offset, limit }: Window): number {
  return limit === 0 ? 0 : offset + limit;
}

export type EvaluateWindow = (frame: Frame) => Window;

export function compileWindow(limit?: Expression, offset?: Expression): EvaluateWindow {
  const first = offset === undefined ? undefined : compileCount(offset, "OFFSET");
  const count = limit === undefined ? undefined : compileCount(limit, "LIMIT");
  return (frame) => ({ offset: first?.(frame) ?? 0, limit: count?.(frame) ?? Infinity });
}

function compileCount(node: Expression, clause: string): (frame: Frame) => number {
  const evaluate: Evaluate = compile(node);
  return (frame) => {
    const count = evaluate(frame);
    if (isInteger(count) && count >= 0) return Number(count);
    throw semanticFault(`expected a whole number from 0 after ${clause}`, node.at);
  };
}
