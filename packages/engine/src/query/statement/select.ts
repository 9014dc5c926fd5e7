/**
 * SELECT and UNION: compiles and runs a query plan: rows, grouping, projection, DISTINCT, ORDER BY,
 * LIMIT.
 */

import { getField, type Value, type ValueObject } from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import { type Frame, newFrame } from "../frame/frame.ts";
import { Pace } from "../frame/pace.ts";
import type { Steps } from "../frame/steps.ts";
import { rowDocument } from "../frame/whole-document.ts";
import type { Output, SharedColumn } from "../plan/output.ts";
import { countedOf, type QueryPlan, type SelectPlan, type UnionPlan } from "../plan/plan.ts";
import type { ScopeTerm } from "../plan/scope.ts";
import type { Execution } from "../run/execution.ts";
import { compileGroups } from "../run/group.ts";
import { GroupTable, sizeInTable } from "../run/group-table.ts";
import { compileHolder, type HeldSlots, type RowHolder } from "../run/held-row.ts";
import { OrderedRows } from "../run/ordered-rows.ts";
import { compileProjection, type Project } from "../run/project.ts";
import type { Sink } from "../run/row-stream.ts";
import { compileRows, driveRows } from "../run/rows.ts";
import { compileSorter, compileWindow, rowsWanted, type Sorter, type Window } from "../run/sort.ts";
import { profiled } from "../run/stage.ts";
import { dataKey, firstOfEquals } from "../value/compare.ts";
import { memorySize } from "../value/memory-size.ts";

export interface QueryOptions {
  /** Row of the outer query, for a subquery. */
  readonly around?: Frame;
  /** Maximum number of rows to return. */
  readonly rowsMax?: number;
}

export type RunQuery<T = Value[]> = (execution: Execution, options?: QueryOptions) => Steps<T>;

/** Compiles a plan; `give` converts the rows into the result. */
export function compileResult<T>(plan: QueryPlan, give: (rows: Value[]) => T): RunQuery<T> {
  return plan.kind === "select" ? compileSelect(plan, give) : compileUnion(plan, give);
}

/** Compiles a plan that returns its rows. */
export function compileQuery(plan: QueryPlan): RunQuery {
  return compileResult(plan, (rows) => rows);
}

function compileSelect<T>(plan: SelectPlan, give: (rows: Value[]) => T): RunQuery<T> {
  const found = compileRows(plan.rows);
  const collect = compileCollector(plan.output, plan.terms, plan.isDistinct);
  const window = compileWindow(plan.limit, plan.offset);
  const { imports } = plan;
  const counted = countedOf(plan);
  return function* run(execution, options) {
    const frame = newFrame(execution.run, plan.slots);
    for (const { outer, inner } of imports) frame.slots[inner] = options?.around?.slots[outer];
    const cut = narrowed(window(frame), options?.rowsMax);
    const count = counted === undefined ? undefined : execution.view.count(counted);
    if (count !== undefined) {
      const { sink, items } = collect(execution, cut, { count });
      yield* sink.end();
      return give(items);
    }
    const { access, isOrdered } = found.choose(execution);
    const { sink, items, wanted } = collect(execution, cut, { isOrdered });
    yield* driveRows({ source: found, reading: { access, wanted } }, execution, frame, sink);
    return give(items);
  };
}

function narrowed(window: Window, rowsMax: number = Infinity): Window {
  const { offset, limit } = window;
  return rowsMax < limit ? { offset, limit: rowsMax } : window;
}

/** Number of rows between two pauses. */
const ROWS_PER_PAUSE = 256;

function compileUnion<T>(plan: UnionPlan, give: (rows: Value[]) => T): RunQuery<T> {
  const arms = plan.arms.map(compileQuery);
  const sorter = compileSorter(plan.order);
  const window = compileWindow(plan.limit, plan.offset);
  return function* run(execution, { around, rowsMax } = {}) {
    const { budget } = execution.run;
    const frame = newFrame(execution.run, plan.slots);
    const { offset, limit } = narrowed(window(frame), rowsMax);
    const wanted = rowsWanted({ offset, limit });
    if (wanted === 0) return give([]);
    const enough = sorter === undefined ? wanted : Infinity;
    const isNew = firstOfEquals((bytes) => budget.take(bytes));
    const rows: Value[] = [];
    const ordered = sorter && new OrderedRows<Value>(sorter, budget, wanted);
    for (const [i, arm] of arms.entries()) {
      if (rows.length >= enough) break;
      const isDistinct = i < plan.distinctCount;
      const missing = isDistinct ? Infinity : enough - rows.length;
      const found = yield* arm(execution, { ...(around && { around }), rowsMax: missing });
      for (const [count, row] of found.entries()) {
        if (count % ROWS_PER_PAUSE === ROWS_PER_PAUSE - 1) yield;
        budget.startRow();
        budget.step();
        if (isDistinct && !isNew(row)) continue;
        if (ordered === undefined) {
          rows.push(row);
          continue;
        }
        frame.slots[0] = rowDocument(row);
        const keys = ordered.keysOf(frame);
        // The arm has already charged the memory of the row.
        if (keys !== undefined) ordered.keep(keys, row, 0);
      }
    }
    budget.endPiece();
    if (ordered !== undefined) {
      for (const place of yield* ordered.inOrder()) rows.push(ordered.rowAt(place));
    }
    return give(rows.slice(offset, offset + limit));
  };
}

export const WHOLE: Window = { offset: 0, limit: Infinity };

export interface Collector {
  readonly sink: Sink;
  readonly items: Value[];
  /** Number of rows that suffice, if known before the first row. */
  readonly wanted: number;
}

/** Facts about the rows that are known before the first one. */
export interface Foreseen {
  /** The rows come in the requested order. */
  readonly isOrdered?: boolean;
  /** Number of rows, if only a count is requested: then no row comes. */
  readonly count?: number;
}

export type Collect = (execution: Execution, window: Window, foreseen?: Foreseen) => Collector;

/** Compiles the stages after the rows: grouping, projection, DISTINCT, ORDER BY, LIMIT. */
export function compileCollector(
  output: Output,
  terms: readonly ScopeTerm[],
  isDistinct: boolean,
): Collect {
  const sorter = compileSorter(output.order);
  const project = compileProjection(output, terms);
  const projectFor = ({ profile }: Execution): Project =>
    profile === undefined
      ? project
      : (frame, execution) =>
          profile.call(output.columns, output.order, () => project(frame, execution));
  const share = compileShared(output.shared);
  const holder = compileHolder(output, terms);
  const group =
    output.grouping === undefined ? undefined : compileGroups(output.grouping, terms[0]?.slot ?? 0);
  return (execution, window, { isOrdered = false, count } = {}) => {
    const parts: Parts = { execution, output, project: projectFor(execution), isDistinct, window };
    const collector =
      sorter === undefined || isOrdered
        ? windowCollector(parts, share)
        : sortingCollector(parts, { sorter, share, holder });
    const { items, wanted } = collector;
    const { profile } = execution;
    const sink = profile?.last(output.order, collector.sink, items) ?? collector.sink;
    if (group === undefined) return { items, sink, wanted };
    const stage = profiled(output.grouping as object, (_, next) => group(execution, next, count));
    return { items, sink: stage(execution, sink), wanted: Infinity };
  };
}

interface Parts {
  readonly execution: Execution;
  readonly output: Output;
  readonly project: Project;
  readonly isDistinct: boolean;
  readonly window: Window;
}

/** Collects rows that need no sort: it stops as soon as the window is full. */
function windowCollector(parts: Parts, share: (frame: Frame) => void): Collector {
  const { execution, project, isDistinct, window } = parts;
  const items: Value[] = [];
  const isNew = distinctness(parts);
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
  const wanted = isDistinct ? Infinity : rowsWanted(window);
  return { items, sink: { row, end: () => [] }, wanted };
}

/** Computes columns that ORDER BY names once, for both sort and projection. */
function compileShared(shared: readonly SharedColumn[]): (frame: Frame) => void {
  const columns = shared.map(({ expression, slot }) => ({ value: compile(expression), slot }));
  return (frame) => {
    for (const { value, slot } of columns) frame.slots[slot] = value(frame);
  };
}

interface Ordering {
  readonly sorter: Sorter;
  readonly share: (frame: Frame) => void;
  readonly holder: RowHolder;
}

/** Memory for rows that wait for projection; beyond it, rows are projected at once. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;

/** A row that is not projected yet: the slots that its projection needs. */
class LateRow {
  readonly held: HeldSlots;

  constructor(held: HeldSlots) {
    this.held = held;
  }
}

/**
 * Sorts the rows. With a limit, projection waits until the returned rows are known. Without one all
 * rows are projected at once, because the result is smaller. DISTINCT needs the projected row.
 */
function sortingCollector(parts: Parts, { sorter, share, holder }: Ordering): Collector {
  const { execution, project, isDistinct, window } = parts;
  const { budget } = execution.run;
  const wanted = rowsWanted(window);
  const isLate = !isDistinct && Number.isFinite(wanted);
  const rows = new OrderedRows<Value | LateRow>(sorter, budget, wanted);
  const items: Value[] = [];
  let last: Frame | undefined;
  const row = (frame: Frame): boolean => {
    if (wanted === 0) return false;
    share(frame);
    const keys = rows.keysOf(frame);
    if (keys === undefined) return true;
    last = frame;
    const held = isLate ? holder.hold(frame) : undefined;
    const bytes = held === undefined ? Infinity : holder.sizeOf(held);
    if (held !== undefined && rows.bytes + bytes <= HELD_BYTES_MAX) {
      rows.keep(keys, new LateRow(held), bytes);
      return true;
    }
    const item = project(frame, execution);
    if (isDistinct) rows.keepDistinct(keys, item, memorySize(item), dataKey(item));
    else rows.keep(keys, item, memorySize(item));
    return true;
  };
  const end = function* end(): Steps<void> {
    const places = yield* rows.inOrder();
    for (const place of places.subarray(0, window.offset)) budget.give(rows.sizeAt(place));
    const given = places.subarray(window.offset, wanted);
    if (last === undefined) return;
    yield* projectLate(given, { ...parts, holder, frame: last, rows, items });
  };
  return { items, sink: { row, end }, wanted: Infinity };
}

interface LateParts extends Parts {
  readonly holder: RowHolder;
  readonly frame: Frame;
  readonly rows: OrderedRows<Value | LateRow>;
  readonly items: Value[];
}

/** Projects the waiting rows in the frame that served all rows. */
function* projectLate(places: Uint32Array, parts: LateParts): Steps<void> {
  const { execution, project, holder, frame, rows, items } = parts;
  const { budget, subqueries } = execution.run;
  const work = (): Value => project(frame, execution);
  const pace = new Pace(budget);
  for (const place of places) {
    const row = rows.rowAt(place);
    if (!(row instanceof LateRow)) {
      items.push(row);
      continue;
    }
    budget.startRow();
    budget.step();
    holder.restore(frame, row.held);
    const item =
      subqueries === undefined ? work() : yield* subqueries.attempt(work, execution.warnings);
    budget.give(rows.sizeAt(place));
    budget.take(memorySize(item));
    items.push(item);
    if (pace.isPauseDue()) yield;
  }
  budget.endPiece();
}

function distinctness({ isDistinct, output, execution }: Parts): (row: Value) => boolean {
  if (!isDistinct) return () => true;
  const { budget } = execution.run;
  const names = columnNames(output);
  if (names === undefined) return firstOfEquals((bytes) => budget.take(bytes));
  const seen = new GroupTable<true>();
  return (row) => {
    const values = names.map((name) => getField(row as ValueObject, name));
    if (seen.find(values) !== undefined) return false;
    budget.take(sizeInTable(values));
    seen.add(values, true);
    return true;
  };
}

/** Names of the columns, if they are all that a row can have; else undefined. */
function columnNames({ columns, isRaw }: Output): readonly string[] | undefined {
  const names = columns.flatMap((column) => (column.kind === "column" ? [column.name] : []));
  return !isRaw && names.length === columns.length ? names : undefined;
}
