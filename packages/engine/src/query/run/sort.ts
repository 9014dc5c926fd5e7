/**
 * Sorting of rows, and the window that LIMIT and OFFSET cut out of them.
 */

import { compile } from "../compile/expression.ts";
import { semanticFault } from "../fault.ts";
import type { Evaluate, Frame, Run } from "../frame/frame.ts";
import type { Expression, OrderTerm } from "../syntax/tree.ts";
import { compareData } from "../value/compare.ts";
import { type Datum, Failure, isInteger, MISSING, type Outcome } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";

export interface Sorter<T> {
  readonly keysOf: (frame: Frame) => readonly Datum[];
  sort(rows: Sortable<T>[], run: Run): void;
}

export interface Sortable<T> {
  readonly keys: readonly Datum[];
  readonly row: T;
}

/** Rows with equal keys stay in the order in which they came. A key that fails counts as null. */
export function compileSorter<T>(terms: readonly OrderTerm[]): Sorter<T> | undefined {
  if (terms.length === 0) return undefined;
  const keys = terms.map(({ expression }) => compile(expression));
  const compare = terms.map(comparisonOf);
  return {
    keysOf: (frame) => keys.map((key) => settled(key(frame))),
    sort(rows, run) {
      rows.sort((a, b) => {
        run.budget.step();
        for (let i = 0; i < compare.length; i++) {
          const order = compare[i]?.(a.keys[i], b.keys[i]) ?? 0;
          if (order !== 0) return order;
        }
        return 0;
      });
    },
  };
}

type Comparison = (a: Datum, b: Datum) => number;

/** Null and MISSING go where they were asked to; among themselves the direction decides. */
function comparisonOf({ isDescending, nulls }: OrderTerm): Comparison {
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

export function sizeOfKeys(keys: readonly Datum[]): number {
  return keys.reduce<number>((sum, key) => sum + memorySize(key), 0);
}

function settled(outcome: Outcome): Datum {
  return outcome instanceof Failure ? null : outcome;
}

export interface Window {
  readonly offset: number;
  readonly limit: number;
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
