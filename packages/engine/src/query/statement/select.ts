/**
 * SELECT: rows, groups, order, projection, DISTINCT, window – planned, compiled, run.
 */

import type { Value } from "@bigpeer/protocol";
import { bindOutput, type Output } from "../plan/output.ts";
import { planRows, type RowsPlan } from "../plan/plan.ts";
import { bindExpression, constantScope, type ScopeTerm, Slots } from "../plan/scope.ts";
import type { Execution } from "../run/execution.ts";
import { compileGroups } from "../run/group.ts";
import { compileProjection, type Project } from "../run/project.ts";
import { compileRows, driveRows, type Sink } from "../run/rows.ts";
import type { Frame } from "../run/run.ts";
import {
  compileSorter,
  compileWindow,
  type Sortable,
  type Sorter,
  type Window,
} from "../run/sort.ts";
import type { Expression, SelectStatement } from "../syntax/tree.ts";
import { dataKey } from "../value/compare.ts";
import { sizeOf } from "../value/size.ts";

export interface SelectPlan {
  readonly rows: RowsPlan;
  readonly terms: readonly ScopeTerm[];
  readonly output: Output;
  readonly isDistinct: boolean;
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /** Places of a frame. */
  readonly slots: number;
}

export function planSelect(statement: SelectStatement, joinsMax?: number): SelectPlan {
  const slots = new Slots();
  const { rows, scope } = planRows(statement, slots, joinsMax);
  const output = bindOutput(statement, scope);
  return {
    rows,
    terms: scope.terms,
    output,
    isDistinct: statement.isDistinct,
    limit: bindWindow(statement.limit),
    offset: bindWindow(statement.offset),
    slots: slots.count,
  };
}

export function bindWindow(node: Expression | undefined): Expression | undefined {
  return node && bindExpression(node, constantScope());
}

/** Gives the rows of a SELECT. */
export type RunSelect = (execution: Execution) => Generator<void, Value[], void>;

export function compileSelect(plan: SelectPlan): RunSelect {
  const found = compileRows(plan.rows);
  const collect = compileCollector(plan.output, plan.terms, plan.isDistinct);
  const window = compileWindow(plan.limit, plan.offset);
  return function* run(execution) {
    const frame: Frame = { run: execution.run, slots: newSlots(plan.slots) };
    const collector = collect(execution, window(frame));
    yield* driveRows(found, execution, frame, collector.sink);
    return collector.items;
  };
}

/** The places of a frame, all MISSING. */
export function newSlots(count: number): undefined[] {
  const slots: undefined[] = [];
  for (let i = 0; i < count; i++) slots.push(undefined);
  return slots;
}

export const WHOLE: Window = { offset: 0, limit: Infinity };

export interface Collector {
  readonly sink: Sink;
  readonly items: Value[];
}

/** From rows to what is given back: groups, projection, DISTINCT, order, window. */
export function compileCollector(
  output: Output,
  terms: readonly ScopeTerm[],
  isDistinct: boolean,
): (execution: Execution, window: Window) => Collector {
  const sorter = compileSorter<Value>(output.order);
  const project = compileProjection(output, terms);
  const group =
    output.grouping === undefined ? undefined : compileGroups(output.grouping, terms[0]?.slot ?? 0);
  return (execution, window) => {
    const isNew = distinctness(isDistinct, execution);
    const parts: Parts = { execution, project, isNew, window };
    const collector =
      sorter === undefined ? windowCollector(parts) : sortingCollector(parts, sorter);
    return group === undefined
      ? collector
      : { items: collector.items, sink: group(execution, collector.sink) };
  };
}

interface Parts {
  readonly execution: Execution;
  readonly project: Project;
  readonly isNew: (row: Value) => boolean;
  readonly window: Window;
}

/** Without an order the window is known while rows come: enough is enough. */
function windowCollector({ execution, project, isNew, window }: Parts): Collector {
  const items: Value[] = [];
  let skipped = 0;
  const row = (frame: Frame): boolean => {
    if (window.limit === 0) return false;
    const item = project(frame, execution);
    if (!isNew(item)) return true;
    if (skipped < window.offset) {
      skipped++;
      return true;
    }
    execution.run.budget.take(sizeOf(item));
    items.push(item);
    return items.length < window.limit;
  };
  return { items, sink: { row, end: () => {} } };
}

function sortingCollector(
  { execution, project, isNew, window }: Parts,
  sorter: Sorter<Value>,
): Collector {
  const items: Value[] = [];
  const sortable: Sortable<Value>[] = [];
  const row = (frame: Frame): boolean => {
    const item = project(frame, execution);
    const keys = sorter.keysOf(frame);
    execution.run.budget.take(sizeOf(item) + sizeOf(keys.map((key) => key ?? null)));
    sortable.push({ keys, row: item });
    return true;
  };
  const end = (): void => {
    sorter.sort(sortable, execution.run);
    let skipped = 0;
    for (const { row: item } of sortable) {
      if (items.length >= window.limit) break;
      if (!isNew(item)) continue;
      if (skipped++ < window.offset) continue;
      items.push(item);
    }
  };
  return { items, sink: { row, end } };
}

function distinctness(isDistinct: boolean, execution: Execution): (row: Value) => boolean {
  if (!isDistinct) return () => true;
  const seen = new Set<string>();
  return (row) => {
    const key = dataKey(row);
    if (seen.has(key)) return false;
    execution.run.budget.take(2 * key.length);
    seen.add(key);
    return true;
  };
}
