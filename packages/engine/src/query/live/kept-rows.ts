/**
 * KeptRows: the rows of a SELECT each of whose rows comes from one document, kept row by row.
 *
 * A changed document takes its old row out and puts its new one in; where it stands is known from
 * what ORDER BY says of it and its id. Rows are projected when they are given back, not before. Of a
 * LIMIT only the first rows are held, with a reserve behind them (row-window.ts); when that is used
 * up the statement runs again.
 */

import { assert, documentId, equalValues, type Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { compile } from "../compile/expression.ts";
import { type Frame, newFrame, type Run } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { SelectPlan } from "../plan/plan.ts";
import type { Execution } from "../run/execution.ts";
import { compileProjection, type Project } from "../run/project.ts";
import { compileRows, driveRows, type RowSource } from "../run/rows.ts";
import { compileSorter, compileWindow, type EvaluateWindow, type Window } from "../run/sort.ts";
import type { OrderTerm } from "../syntax/tree.ts";
import { compareData } from "../value/compare.ts";
import { type Datum, MISSING } from "../value/datum.ts";
import { underMeter } from "../value/effort.ts";
import { memorySize } from "../value/memory-size.ts";
import type { DocumentChange } from "./document-change.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";
import type { RowKeeper } from "./row-keeper.ts";
import { type CompareKeys, type HeldRow, RowWindow } from "./row-window.ts";

/** A SELECT, compiled to be kept. The same for all who follow it. */
export interface KeptPlan {
  readonly collection: string;
  readonly slot: number;
  readonly slots: number;
  readonly rows: RowSource;
  /** Computes the columns that ORDER BY names, for keys and projection. */
  readonly share: (frame: Frame) => void;
  readonly keysOf: (frame: Frame) => readonly Datum[];
  readonly compare: CompareKeys;
  readonly isOrdered: boolean;
  readonly project: Project;
  readonly window: EvaluateWindow;
}

export function compileKept(plan: SelectPlan, collection: string): KeptPlan {
  const { output, terms, rows, limit, offset, slots } = plan;
  const sorter = compileSorter(output.order);
  const shared = output.shared.map(({ expression, slot }) => ({
    value: compile(expression),
    slot,
  }));
  return {
    collection,
    slot: rows.source.slot,
    slots,
    rows: compileRows(rows),
    share(frame) {
      for (const { value, slot } of shared) frame.slots[slot] = value(frame);
    },
    keysOf: sorter?.keysOf ?? (() => []),
    compare: comparisonOf(output.order),
    isOrdered: sorter !== undefined,
    project: compileProjection(output, terms),
    window: compileWindow(limit, offset),
  };
}

function comparisonOf(terms: readonly OrderTerm[]): CompareKeys {
  return (a, b) => {
    for (const [i, term] of terms.entries()) {
      const order = compareBy(term, a[i], b[i]);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Null and MISSING go where they were asked to; among themselves the direction decides. */
function compareBy({ isDescending, nulls }: OrderTerm, a: Datum, b: Datum): number {
  const isNullA = a === null || a === MISSING;
  const isNullB = b === null || b === MISSING;
  if (nulls !== undefined && isNullA !== isNullB) return isNullA === (nulls === "first") ? -1 : 1;
  return isDescending ? compareData(b, a) : compareData(a, b);
}

/** Rough bytes of a row, without what is in it. */
const ROW_BYTES = 160;

/** A row whose document was written anew and that stands where it stood. */
interface Renewed {
  readonly row: HeldRow;
  readonly at: number;
  readonly was: Value | undefined;
}

export class KeptRows implements RowKeeper {
  readonly #plan: KeptPlan;
  readonly #cut: Window;
  readonly #window: RowWindow;
  #isFilled = false;
  /** Whether rows that are given back came, went or moved. */
  #isMoved = false;
  #renewed: Renewed[] = [];
  /** Rows whose documents are at hand, until the next time rows are asked for. */
  #open: HeldRow[] = [];

  constructor(plan: KeptPlan, cut: Window) {
    this.#plan = plan;
    this.#cut = cut;
    this.#window = new RowWindow(plan.compare, cut);
  }

  get bytes(): number {
    return this.#window.bytes;
  }

  get isStale(): boolean {
    return !this.#isFilled || this.#window.isShort;
  }

  invalidate(): void {
    this.#isFilled = false;
    this.#window.clear();
    this.#close();
  }

  *fill(execution: Execution): Steps<void> {
    this.invalidate();
    const gathering = new Gathering(this.#plan, this.#window, execution);
    if (this.#window.capacity > 0) {
      const frame = newFrame(execution.run, this.#plan.slots);
      const { rows: source } = this.#plan;
      const reading = { access: source.choose(execution).access, wanted: Infinity };
      yield* driveRows({ source, reading }, execution, frame, gathering);
    }
    this.#open = gathering.finish();
    this.#isMoved = true;
    this.#isFilled = true;
  }

  take<T>(entry: MatchEntry<T>, change: DocumentChange, index: MatchIndex<T>): boolean {
    if (!this.#isFilled) return false;
    const { after, idKey } = change;
    const isMatch = after !== undefined && index.matches(entry, after);
    const old = this.#window.remove(idKey);
    const row = isMatch ? this.#rowOf(after, idKey, entry.run) : undefined;
    const at = row && this.#window.add(row);
    if (old === undefined && at === undefined) return false;
    if (row !== undefined && old !== undefined && at === old.at) {
      this.#renewed.push({ row, at, was: old.row.item });
    } else {
      const first = Math.min(old?.at ?? Infinity, at ?? Infinity);
      this.#isMoved ||= first < this.#window.needed;
    }
    return true;
  }

  settle(execution: Execution): readonly Value[] | undefined {
    const isChanged = this.#isMoved || this.#isRenewed(execution);
    const rows = isChanged
      ? this.#window.given.map((row) => this.#itemOf(row, execution))
      : undefined;
    this.#close();
    return rows;
  }

  #rowOf(document: StoredDocument, idKey: string, run: Run): HeldRow {
    const frame = newFrame(run, this.#plan.slots);
    run.budget.startRow();
    const row = underMeter(run.budget, () => rowOf(this.#plan, document, idKey, frame));
    this.#open.push(row);
    return row;
  }

  /** Whether one of the rows that stayed in their place gives something else now. */
  #isRenewed(execution: Execution): boolean {
    let isDifferent = false;
    for (const { row, at, was } of this.#renewed) {
      if (at < this.#cut.offset || at >= this.#window.needed) continue;
      const item = this.#itemOf(row, execution);
      isDifferent ||= was === undefined || !equalValues(was, item);
    }
    return isDifferent;
  }

  #itemOf(row: HeldRow, execution: Execution): Value {
    if (row.item !== undefined) return row.item;
    const { collection, project, share, slot, slots } = this.#plan;
    const { run, view } = execution;
    run.budget.startRow();
    run.budget.step();
    const document = row.document ?? view.get(collection, row.id);
    assert(document !== undefined, "a document whose row is held");
    const frame = newFrame(run, slots);
    frame.slots[slot] = document;
    share(frame);
    const item = project(frame, execution);
    row.item = item;
    this.#window.charge(row, memorySize(item));
    return item;
  }

  #close(): void {
    for (const row of this.#open) row.document = undefined;
    this.#open = [];
    this.#renewed = [];
    this.#isMoved = false;
  }
}

/** `frame` is one that may be used up. */
function rowOf(plan: KeptPlan, document: StoredDocument, idKey: string, frame: Frame): HeldRow {
  frame.slots[plan.slot] = document;
  plan.share(frame);
  const keys = plan.keysOf(frame);
  let bytes = ROW_BYTES + 2 * idKey.length + memorySize(document.id);
  for (const key of keys) bytes += memorySize(key);
  return { id: document.id, idKey, keys, document, item: undefined, bytes };
}

/** The rows of a run: the first of them in the order of the result, as many as the window takes. */
class Gathering {
  readonly #plan: KeptPlan;
  readonly #window: RowWindow;
  readonly #execution: Execution;
  readonly #isBounded: boolean;
  #rows: HeldRow[] = [];
  #isWhole = true;

  constructor(plan: KeptPlan, window: RowWindow, execution: Execution) {
    this.#plan = plan;
    this.#window = window;
    this.#execution = execution;
    this.#isBounded = window.capacity < Infinity;
  }

  row(frame: Frame): boolean {
    const { budget } = this.#execution.run;
    const document = frame.slots[this.#plan.slot] as StoredDocument;
    const row = rowOf(this.#plan, document, documentId(document.id).key, frame);
    if (this.#isBounded) {
      budget.take(row.bytes + memorySize(document.fields));
    } else {
      // It is given back for sure: then only that is held.
      row.item = this.#plan.project(frame, this.#execution);
      row.document = undefined;
      row.bytes += memorySize(row.item);
      budget.take(row.bytes);
    }
    this.#rows.push(row);
    if (this.#plan.isOrdered) {
      if (this.#rows.length >= 2 * this.#window.capacity) this.#cut();
      return true;
    }
    // They come in the order of their ids: enough is enough.
    this.#isWhole = this.#rows.length <= this.#window.capacity;
    return this.#isWhole;
  }

  end(): Iterable<void> {
    return [];
  }

  /** Fills the window; returns the rows in it. */
  finish(): HeldRow[] {
    this.#rows.sort(this.#window.order);
    this.#window.fill(this.#rows, this.#isWhole);
    return this.#rows.slice(0, this.#window.capacity);
  }

  #cut(): void {
    const { budget } = this.#execution.run;
    this.#rows.sort(this.#window.order);
    this.#isWhole = false;
    for (const { bytes, document } of this.#rows.splice(this.#window.capacity)) {
      budget.give(bytes + memorySize(document?.fields));
    }
  }
}
