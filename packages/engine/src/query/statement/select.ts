/**
 * SELECT and UNION: a plan compiled and run: rows, groups, projection, DISTINCT, order, window.
 */

import type { Value } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import { type Frame, newFrame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { rowDocument } from "../frame/whole-document.ts";
import type { Output, SharedColumn } from "../plan/output.ts";
import type { QueryPlan, SelectPlan, UnionPlan } from "../plan/plan.ts";
import type { ScopeTerm } from "../plan/scope.ts";
import type { Execution } from "../run/execution.ts";
import { compileGroups } from "../run/group.ts";
import { compileProjection, type Project } from "../run/project.ts";
import { compileRows, driveRows, type Sink } from "../run/rows.ts";
import {
  compileSorter,
  compileWindow,
  type Sortable,
  type Sorter,
  sizeOfKeys,
  type Window,
} from "../run/sort.ts";
import { firstOfEquals } from "../value/compare.ts";
import { memorySize } from "../value/memory-size.ts";

export interface QueryOptions {
  /** The row around a query in an expression. */
  readonly around?: Frame;
  /** How many rows are wanted at most. */
  readonly rowsMax?: number;
}

export type RunQuery<T = Value[]> = (execution: Execution, options?: QueryOptions) => Steps<T>;

/** `give` makes of the rows what is given back. */
export function compileResult<T>(plan: QueryPlan, give: (rows: Value[]) => T): RunQuery<T> {
  return plan.kind === "select" ? compileSelect(plan, give) : compileUnion(plan, give);
}

/** The rows themselves. */
export function compileQuery(plan: QueryPlan): RunQuery {
  return compileResult(plan, (rows) => rows);
}

function compileSelect<T>(plan: SelectPlan, give: (rows: Value[]) => T): RunQuery<T> {
  const found = compileRows(plan.rows);
  const collect = compileCollector(plan.output, plan.terms, plan.isDistinct);
  const window = compileWindow(plan.limit, plan.offset);
  const { imports } = plan;
  return function* run(execution, options) {
    const frame = newFrame(execution.run, plan.slots);
    for (const { outer, inner } of imports) frame.slots[inner] = options?.around?.slots[outer];
    const { access, isOrdered } = found.choose(execution);
    const cut = narrowed(window(frame), options?.rowsMax);
    const collector = collect(execution, cut, isOrdered);
    const reading = { access, wanted: collector.wanted };
    yield* driveRows({ source: found, reading }, execution, frame, collector.sink);
    return give(collector.items);
  };
}

function narrowed(window: Window, rowsMax: number = Infinity): Window {
  const { offset, limit } = window;
  return rowsMax < limit ? { offset, limit: rowsMax } : window;
}

/** Rows after which a pause is offered. */
const ROWS_PER_PAUSE = 256;

function compileUnion<T>(plan: UnionPlan, give: (rows: Value[]) => T): RunQuery<T> {
  const arms = plan.arms.map(compileQuery);
  const sorter = compileSorter<Value>(plan.order);
  const window = compileWindow(plan.limit, plan.offset);
  return function* run(execution, { around, rowsMax } = {}) {
    const { budget } = execution.run;
    const frame = newFrame(execution.run, plan.slots);
    const { offset, limit } = narrowed(window(frame), rowsMax);
    const enough = sorter === undefined ? offset + limit : Infinity;
    const isNew = firstOfEquals((bytes) => budget.take(bytes));
    const rows: Sortable<Value>[] = [];
    for (const [i, arm] of arms.entries()) {
      if (rows.length >= enough) break;
      const isDistinct = i < plan.distinctCount;
      const wanted = isDistinct ? Infinity : enough - rows.length;
      const found = yield* arm(execution, { ...(around && { around }), rowsMax: wanted });
      for (const [count, row] of found.entries()) {
        if (count % ROWS_PER_PAUSE === ROWS_PER_PAUSE - 1) yield;
        budget.startRow();
        budget.step();
        if (isDistinct && !isNew(row)) continue;
        frame.slots[0] = rowDocument(row);
        const keys = sorter?.keysOf(frame) ?? [];
        budget.take(sizeOfKeys(keys));
        rows.push({ keys, row });
      }
    }
    budget.endPiece();
    sorter?.sort(rows, execution.run);
    return give(rows.slice(offset, offset + limit).map(({ row }) => row));
  };
}

export const WHOLE: Window = { offset: 0, limit: Infinity };

export interface Collector {
  readonly sink: Sink;
  readonly items: Value[];
  /** How many rows are enough, as far as it is known before the first. */
  readonly wanted: number;
}

/** `isOrdered`: rows come in the order that is asked for. */
export type Collect = (execution: Execution, window: Window, isOrdered?: boolean) => Collector;

/** From rows to what is given back: groups, projection, DISTINCT, order, window. */
export function compileCollector(
  output: Output,
  terms: readonly ScopeTerm[],
  isDistinct: boolean,
): Collect {
  const sorter = compileSorter<Value>(output.order);
  const project = compileProjection(output, terms);
  const share = compileShared(output.shared);
  const group =
    output.grouping === undefined ? undefined : compileGroups(output.grouping, terms[0]?.slot ?? 0);
  return (execution, window, isOrdered = false) => {
    const isNew = distinctness(isDistinct, execution);
    const parts: Parts = { execution, project, isNew, window, share };
    const collector =
      sorter === undefined || isOrdered ? windowCollector(parts) : sortingCollector(parts, sorter);
    if (group !== undefined) {
      const { items, sink } = collector;
      return { items, sink: group(execution, sink), wanted: Infinity };
    }
    return isDistinct ? { ...collector, wanted: Infinity } : collector;
  };
}

interface Parts {
  readonly execution: Execution;
  readonly project: Project;
  readonly isNew: (row: Value) => boolean;
  readonly window: Window;
  readonly share: (frame: Frame) => void;
}

/** Without an order the window is known while rows come: enough is enough. */
function windowCollector({ execution, project, isNew, window, share }: Parts): Collector {
  const items: Value[] = [];
  let skipped = 0;
  const row = (frame: Frame): boolean => {
    if (window.limit === 0) return false;
    share(frame);
    const item = project(frame, execution);
    if (!isNew(item)) return true;
    if (skipped < window.offset) {
      skipped++;
      return true;
    }
    execution.run.budget.take(memorySize(item));
    items.push(item);
    return items.length < window.limit;
  };
  return { items, sink: { row, end: () => [] }, wanted: window.offset + window.limit };
}

/** Computes the columns that ORDER BY names, once for order and projection. */
function compileShared(shared: readonly SharedColumn[]): (frame: Frame) => void {
  const columns = shared.map(({ expression, slot }) => ({ value: compile(expression), slot }));
  return (frame) => {
    for (const { value, slot } of columns) frame.slots[slot] = value(frame);
  };
}

function sortingCollector(
  { execution, project, isNew, window, share }: Parts,
  sorter: Sorter<Value>,
): Collector {
  const items: Value[] = [];
  const sortable: Sortable<Value>[] = [];
  const row = (frame: Frame): boolean => {
    share(frame);
    const item = project(frame, execution);
    const keys = sorter.keysOf(frame);
    execution.run.budget.take(memorySize(item) + sizeOfKeys(keys));
    sortable.push({ keys, row: item });
    return true;
  };
  const end = (): Iterable<void> => {
    sorter.sort(sortable, execution.run);
    let skipped = 0;
    for (const { row: item } of sortable) {
      if (items.length >= window.limit) break;
      if (!isNew(item)) continue;
      if (skipped++ < window.offset) continue;
      items.push(item);
    }
    return [];
  };
  return { items, sink: { row, end }, wanted: Infinity };
}

function distinctness(isDistinct: boolean, execution: Execution): (row: Value) => boolean {
  if (!isDistinct) return () => true;
  return firstOfEquals((bytes) => execution.run.budget.take(bytes));
}
