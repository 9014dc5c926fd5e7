/**
 * Choice: the documents of one collection that a condition, an order and a window choose. For
 * mutations, and for whoever wants documents rather than rows.
 */

import { planRows, type RowsPlan, type SourcePlan } from "../plan/plan.ts";
import { bindExpression, type Scope, Slots } from "../plan/scope.ts";
import { bindWindow, newSlots } from "../statement/select.ts";
import type { OrderTerm, Selection } from "../syntax/tree.ts";
import type { CollectionUse } from "../system/system-collections.ts";
import type { Execution } from "./execution.ts";
import { compileRows, driveRows } from "./rows.ts";
import type { Frame } from "./run.ts";
import { compileSorter, compileWindow, type Sortable, type Window } from "./sort.ts";

export interface Choice {
  readonly plan: RowsPlan;
  readonly source: SourcePlan;
  readonly scope: Scope;
  readonly order: readonly OrderTerm[];
  /**
   * The rows of the documents that were chosen, each with a frame of its own. `window` is for those
   * who have it in numbers instead of in the statement.
   */
  readonly rows: (execution: Execution, window?: Window) => Generator<void, Frame[], void>;
}

/** Rough bytes of a frame that is kept. */
const FRAME_BYTES = 128;

export function compileChoice(selection: Selection, purpose: CollectionUse): Choice {
  const slots = new Slots();
  const { term, where } = selection;
  const clauses = { from: term, purpose, ...(where && { where }) };
  const { rows: plan, scope } = planRows(clauses, slots);
  const order = selection.orderBy.map(({ expression, isDescending }) => ({
    expression: bindExpression(expression, scope),
    isDescending,
  }));
  const sorter = compileSorter<Frame>(order);
  const window = compileWindow(bindWindow(selection.limit), bindWindow(selection.offset));
  const source = compileRows(plan);
  const rows = function* rows(
    execution: Execution,
    given?: Window,
  ): Generator<void, Frame[], void> {
    const { run } = execution;
    const found: Sortable<Frame>[] = [];
    const frame: Frame = { run, slots: newSlots(slots.count) };
    const { offset, limit } = given ?? window(frame);
    const enough = sorter === undefined ? offset + limit : Infinity;
    const row = (each: Frame): boolean => {
      if (found.length >= enough) return false;
      run.budget.take(FRAME_BYTES);
      const keys = sorter?.keysOf(each) ?? [];
      found.push({ keys, row: { run, slots: [...each.slots] } });
      return true;
    };
    yield* driveRows(source, execution, frame, { row, end: () => {} });
    sorter?.sort(found, run);
    return found.slice(offset, offset + limit).map((each) => each.row);
  };
  return { plan, source: plan.source, scope, order, rows };
}
