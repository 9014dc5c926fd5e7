/**
 * Choice: compiled selection of documents of one collection by condition, ORDER BY, LIMIT and
 * OFFSET. Mutations use it, and callers that need documents instead of projected rows.
 */

import type { ValueObject } from "@bigpeer/protocol";
import { AT_ONCE, finish, type Steps } from "../../steps.ts";
import type { StoredDocument } from "../../store/view.ts";
import { type Frame, newFrame, type Run } from "../frame/frame.ts";
import type { CollectionPurpose } from "../plan/collection.ts";
import { isAlways, planRows, type RowsPlan, type SourcePlan } from "../plan/plan.ts";
import { bindExpression, type Scope, Slots } from "../plan/scope.ts";
import { bindConstant, queryOptions } from "../plan/select-plan.ts";
import { rowsForChoice } from "../plan/wish.ts";
import type { Chooser, Execution } from "../run/execution.ts";
import { OrderedRows } from "../run/ordered-rows.ts";
import { compileRows, driveRows } from "../run/rows.ts";
import { compileSorter, compileWindow, rowsWanted, type Window } from "../run/sort.ts";
import { readsOfParts } from "../syntax/statement-walk.ts";
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
   * One row with a frame of its own for each selected document. `window` replaces the LIMIT and
   * OFFSET of the statement, for callers that have them as numbers.
   */
  readonly rows: (execution: Execution, window?: Window) => Steps<Frame[]>;
  /** Number of documents that match the condition; keeps none of them. */
  readonly count: (execution: Execution) => Steps<number>;
}

/** Shared: a new object for each document is memory that nothing reads. */
const NO_FIELDS: ValueObject = {};

/** Approximate bytes of a kept frame, without its contents. */
const FRAME_BYTES = 128;

export interface ChoiceOptions {
  readonly purpose: CollectionPurpose;
  /** Whether the caller needs ids only: then the fields are dropped. */
  readonly isIdsOnly?: boolean;
  /** Whether a limit will apply, also one that is given as a number. */
  readonly hasLimit?: boolean;
}

export function compileChoice(selection: Selection, options: ChoiceOptions): Choice {
  return finish(compileChoiceInSteps(selection, options));
}

/** Like `compileChoice`, in steps, for a long condition. */
export function* compileChoiceInSteps(selection: Selection, options: ChoiceOptions): Steps<Choice> {
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
  yield;
  const plan = rowsForChoice(bound, order, { hasLimit, isIdsOnly });
  const sorter = compileSorter(order);
  const limit = bindConstant(selection.limit);
  const offset = bindConstant(selection.offset);
  const window = compileWindow(limit, offset);
  const source = compileRows(plan);
  const { slot } = plan.source;
  const keep = (document: StoredDocument): StoredDocument =>
    isIdsOnly ? { id: document.id, fields: NO_FIELDS, types: document.types } : document;
  const choose = function* choose(
    execution: Execution,
    given?: Window,
  ): Steps<readonly StoredDocument[]> {
    const { run } = execution;
    const frame = newFrame(run, slots.count);
    const cut = given ?? window(frame);
    const wanted = rowsWanted(cut);
    if (wanted === 0) return [];
    const keeper: Keeper = { slot, keep, run, wanted };
    const { access, isOrdered } = source.choose(execution);
    const sorted =
      sorter === undefined || isOrdered
        ? undefined
        : new OrderedRows<StoredDocument>(sorter, run.budget, wanted);
    const first: StoredDocument[] = [];
    const row = sorted === undefined ? keepFirst(keeper, first) : keepSorted(keeper, sorted);
    const reading = { access, wanted: sorted === undefined ? wanted : Infinity };
    yield* driveRows({ source, reading }, execution, frame, { row, end: () => [] });
    const found =
      sorted === undefined
        ? first
        : Array.from(yield* sorted.inOrder(), (place) => sorted.rowAt(place));
    return found.slice(cut.offset, cut.offset + cut.limit);
  };
  const { reads, each } = chooserOf(selection, plan.source, hasLimit);
  const rows = function* rows(execution: Execution, given?: Window): Steps<Frame[]> {
    const { choices, run } = execution;
    const steps =
      choices === undefined
        ? choose(execution, given)
        : choices.take({ reads, each, choose: (on) => choose(on, given) }, execution);
    const documents = yield* steps;
    const frames: Frame[] = [];
    for (const document of documents) {
      const own = newFrame(run, slots.count);
      own.slots[slot] = document;
      if (frames.push(own) % AT_ONCE === 0) yield;
    }
    return frames;
  };
  yield;
  // Counting keeps no documents and needs no order.
  const count = compileCount(rowsForChoice(bound, [], { hasLimit: false, isIdsOnly: true }), slots);
  return { plan, source: plan.source, scope, order, limit, offset, rows, count };
}

/**
 * The collections that a selection depends on; none by id, which is fast without an early choice.
 */
function chooserOf(
  { where, orderBy, offset }: Selection,
  { collection, ids }: SourcePlan,
  hasLimit: boolean,
): Omit<Chooser<StoredDocument>, "choose"> {
  const others = readsOfParts([where, ...orderBy.map(({ expression }) => expression)]);
  if (collection.kind !== "stored" || ids !== undefined || others === undefined) {
    return { reads: undefined, each: undefined };
  }
  const { name } = collection;
  const isOfAll = hasLimit || offset !== undefined || orderBy.length > 0 || others.includes(name);
  return isOfAll ? { reads: [...others, name], each: undefined } : { reads: others, each: name };
}

type TakeRow = (frame: Frame) => boolean;

interface Keeper {
  /** Slot of the document in a row. */
  readonly slot: number;
  readonly keep: (document: StoredDocument) => StoredDocument;
  readonly run: Run;
  /** Maximum number of documents to keep. */
  readonly wanted: number;
}

function sizeOf({ fields }: StoredDocument): number {
  return FRAME_BYTES + memorySize(fields);
}

/** Takes rows in the order in which they are found, while more are wanted. */
function keepFirst({ slot, keep, run, wanted }: Keeper, first: StoredDocument[]): TakeRow {
  return (frame) => {
    const document = keep(frame.slots[slot] as StoredDocument);
    run.budget.take(sizeOf(document));
    return first.push(document) < wanted;
  };
}

/** Takes all rows, in the order of a sorter. */
function keepSorted({ slot, keep }: Keeper, sorted: OrderedRows<StoredDocument>): TakeRow {
  return (frame) => {
    const keys = sorted.keysOf(frame);
    if (keys === undefined) return true;
    const document = keep(frame.slots[slot] as StoredDocument);
    sorted.keep(keys, document, sizeOf(document));
    return true;
  };
}

function compileCount(plan: RowsPlan, slots: Slots): Choice["count"] {
  const { collection } = plan.source;
  const counted =
    isAlways(plan.where) && collection.kind === "stored" ? collection.name : undefined;
  const source = compileRows(plan);
  return function* count(execution) {
    // The store keeps a total; it is undefined if the caller may not see all documents.
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
