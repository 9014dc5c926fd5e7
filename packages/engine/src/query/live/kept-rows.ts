/**
 * KeptRows: incrementally maintained result of a SELECT in which each row comes from one document.
 *
 * A changed document removes its old row and inserts its new one; the sort keys and the id give the
 * position. Rows are projected only when they are returned. With LIMIT only the first rows are
 * held, with a reserve behind them (row-window.ts); when the reserve is used up, the statement runs
 * again.
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
import {
  type Comparison,
  compileSorter,
  compileWindow,
  type EvaluateWindow,
  type Window,
} from "../run/sort.ts";
import { underMeter } from "../value/cost-meter.ts";
import type { Datum } from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";
import type { DocumentChange } from "./document-change.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";
import type { RowKeeper } from "./row-keeper.ts";
import { type CompareKeys, type HeldRow, RowWindow } from "./row-window.ts";

/** A SELECT compiled for incremental maintenance, shared by all its followers. */
export interface KeptPlan {
  readonly collection: string;
  readonly slot: number;
  readonly slots: number;
  readonly rows: RowSource;
  /** Computes the columns that ORDER BY names, for keys and projection. */
  readonly share: (frame: Frame) => void;
  readonly keysOf: (frame: Frame) => readonly Datum[];
  readonly compare: CompareKeys;
  /** Whether there is an ORDER BY. */
  readonly hasOrder: boolean;
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
    compare: compareBy(sorter?.comparisons ?? []),
    hasOrder: sorter !== undefined,
    project: compileProjection(output, terms),
    window: compileWindow(limit, offset),
  };
}

function compareBy(comparisons: readonly Comparison[]): CompareKeys {
  return (a, b) => {
    for (const [i, compare] of comparisons.entries()) {
      const order = compare(a[i], b[i]);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Approximate bytes of a row without its contents. */
const ROW_BYTES = 160;

/** A row whose document was rewritten and which keeps its position. */
interface Renewed {
  readonly row: HeldRow;
  /** Its item in the last result. */
  readonly was: Value | undefined;
}

export class KeptRows implements RowKeeper {
  readonly #plan: KeptPlan;
  readonly #window: RowWindow;
  #isFilled = false;
  /** Whether returned rows were inserted, removed or moved. */
  #isMoved = false;
  #renewed: Renewed[] = [];
  /** Rows that hold their documents until the next settle. */
  #open: HeldRow[] = [];

  constructor(plan: KeptPlan, cut: Window) {
    this.#plan = plan;
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
    const { rows: source, hasOrder, slots } = this.#plan;
    const { access, isOrdered } = source.choose(execution);
    const gathering = new Gathering(this.#plan, this.#window, execution);
    gathering.isInOrder = !hasOrder || isOrdered;
    if (this.#window.capacity > 0) {
      // One row more than the capacity shows that there are others.
      const wanted = gathering.isInOrder ? this.#window.capacity + 1 : Infinity;
      const frame = newFrame(execution.run, slots);
      yield* driveRows({ source, reading: { access, wanted } }, execution, frame, gathering);
    }
    this.#open = gathering.finish();
    this.#isMoved = true;
    this.#isFilled = true;
  }

  take<T>(entry: MatchEntry<T>, change: DocumentChange, index: MatchIndex<T>): boolean {
    if (!this.#isFilled) return false;
    const { after, idKey } = change;
    const row =
      after !== undefined && index.matches(entry, after)
        ? this.#rowOf(after, idKey, entry.run)
        : undefined;
    const old = this.#window.find(idKey);
    if (row !== undefined && old !== undefined && this.#window.order(row, old) === 0) {
      this.#renew(old, row);
      return true;
    }
    const from = old && this.#window.remove(old);
    const to = row && this.#window.add(row);
    if (row !== undefined && to !== undefined) this.#open.push(row);
    const first = Math.min(from ?? Infinity, to ?? Infinity);
    this.#isMoved ||= first < this.#window.needed;
    return first < Infinity;
  }

  /** Rewrites the document of a row that keeps its position. */
  #renew(row: HeldRow, { document, bytes }: HeldRow): void {
    this.#renewed.push({ row, was: row.item });
    this.#open.push(row);
    this.#window.charge(row, bytes - row.bytes);
    row.document = document;
    row.item = undefined;
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
    return underMeter(run.budget, () => rowOf(this.#plan, document, idKey, frame));
  }

  /** Whether the item of a row that kept its position differs. */
  #isRenewed(execution: Execution): boolean {
    let isDifferent = false;
    for (const { row, was } of this.#renewed) {
      if (!this.#window.isGiven(row)) continue;
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

/** `frame` may be overwritten. */
function rowOf(plan: KeptPlan, document: StoredDocument, idKey: string, frame: Frame): HeldRow {
  frame.slots[plan.slot] = document;
  plan.share(frame);
  const keys = plan.keysOf(frame);
  let bytes = ROW_BYTES + 2 * idKey.length + memorySize(document.id);
  for (const key of keys) bytes += memorySize(key);
  return { id: document.id, idKey, keys, document, item: undefined, bytes };
}

/** Collects the rows of a run: the first ones of the result, as many as the window takes. */
class Gathering {
  readonly #plan: KeptPlan;
  readonly #window: RowWindow;
  readonly #execution: Execution;
  readonly #isBounded: boolean;
  #rows: HeldRow[] = [];
  #isWhole = true;
  /** Whether rows come in the order of the result. */
  isInOrder = false;

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
      // The row is certainly returned: then only its item is held.
      row.item = this.#plan.project(frame, this.#execution);
      row.document = undefined;
      row.bytes += memorySize(row.item);
      budget.take(row.bytes);
    }
    this.#rows.push(row);
    if (!this.isInOrder) {
      if (this.#rows.length >= 2 * this.#window.capacity) this.#cut();
      return true;
    }
    // Enough rows.
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
