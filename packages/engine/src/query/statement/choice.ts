/**
 * Choice: the documents of one collection that a condition, an order and a window choose. For
 * mutations, and for whoever wants documents rather than rows.
 */

import type { StoredDocument } from "../../store/view.ts";
import { type Frame, newFrame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { CollectionPurpose } from "../plan/collection.ts";
import { isAlways, planRows, type RowsPlan, type SourcePlan } from "../plan/plan.ts";
import { bindExpression, type Scope, Slots } from "../plan/scope.ts";
import { bindConstant, queryOptions } from "../plan/select-plan.ts";
import { rowsForChoice } from "../plan/wish.ts";
import type { Execution } from "../run/execution.ts";
import { compileRows, driveRows } from "../run/rows.ts";
import {
  compileSorter,
  compileWindow,
  type Sortable,
  sizeOfKeys,
  type Window,
} from "../run/sort.ts";
import type { Expression, OrderTerm, Selection } from "../syntax/tree.ts";
import { memorySize } from "../value/memory-size.ts";

export interface Choice {
  readonly plan: RowsPlan;
  readonly source: SourcePlan;
  readonly scope: Scope;
  readonly order: readonly OrderTerm[];
  readonly limit: Expression | undefined;
  readonly offset: Expression | undefined;
  /**
   * The rows of the documents that were chosen, each with a frame of its own. `window` is for those
   * who have it in numbers instead of in the statement.
   */
  readonly rows: (execution: Execution, window?: Window) => Steps<Frame[]>;
  /** How many documents the condition chooses; none of them is kept. */
  readonly count: (execution: Execution) => Steps<number>;
}

/** Rough bytes of a frame that is kept, without what it holds. */
const FRAME_BYTES = 128;

export interface ChoiceOptions {
  readonly purpose: CollectionPurpose;
  /** Whether the ids are enough: then nothing else of the documents is kept. */
  readonly isIdsOnly?: boolean;
  /** Whether there will be a window, be it in numbers. */
  readonly hasLimit?: boolean;
}

export function compileChoice(selection: Selection, options: ChoiceOptions): Choice {
  const { purpose, isIdsOnly = false } = options;
  const slots = new Slots();
  const { term, where } = selection;
  const clauses = { from: term, purpose, ...(where && { where }) };
  const { rows: bound, scope } = planRows(clauses, slots, queryOptions());
  const order = selection.orderBy.map((each) => ({
    ...each,
    expression: bindExpression(each.expression, scope),
  }));
  const hasLimit = selection.limit !== undefined || options.hasLimit === true;
  const plan = rowsForChoice(bound, order, { hasLimit, isIdsOnly });
  const sorter = compileSorter<Frame>(order);
  const limit = bindConstant(selection.limit);
  const offset = bindConstant(selection.offset);
  const window = compileWindow(limit, offset);
  const source = compileRows(plan);
  const { slot } = plan.source;
  const rows = function* rows(execution: Execution, given?: Window): Steps<Frame[]> {
    const { run } = execution;
    const found: Sortable<Frame>[] = [];
    const frame = newFrame(run, slots.count);
    const cut = given ?? window(frame);
    const { access, isOrdered } = source.choose(execution);
    const sorting = isOrdered ? undefined : sorter;
    const enough = sorting === undefined ? cut.offset + cut.limit : Infinity;
    const row = (each: Frame): boolean => {
      if (found.length >= enough) return false;
      const keys = sorting?.keysOf(each) ?? [];
      const document = each.slots[slot] as StoredDocument;
      const kept = isIdsOnly ? { ...document, fields: {} } : document;
      run.budget.take(FRAME_BYTES + memorySize(kept.fields) + sizeOfKeys(keys));
      const slotsKept = [...each.slots];
      slotsKept[slot] = kept;
      found.push({ keys, row: { run, slots: slotsKept } });
      return true;
    };
    const reading = { access, wanted: enough };
    yield* driveRows({ source, reading }, execution, frame, { row, end: () => [] });
    sorting?.sort(found, run);
    return found.slice(cut.offset, cut.offset + cut.limit).map((each) => each.row);
  };
  const count = compileCount(plan, slots);
  return { plan, source: plan.source, scope, order, limit, offset, rows, count };
}

function compileCount(plan: RowsPlan, slots: Slots): Choice["count"] {
  const { collection } = plan.source;
  const counted =
    isAlways(plan.where) && collection.kind === "stored" ? collection.name : undefined;
  const source = compileRows(plan);
  return function* count(execution) {
    // The store keeps the number; a caller to whom it would tell too much has to count.
    const known = counted === undefined ? undefined : execution.view.count(counted);
    if (known !== undefined) return known;
    let found = 0;
    const row = (): boolean => {
      found++;
      return true;
    };
    const frame = newFrame(execution.run, slots.count);
    const reading = { access: source.choose(execution).access, wanted: Infinity };
    yield* driveRows({ source, reading }, execution, frame, { row, end: () => [] });
    return found;
  };
}
