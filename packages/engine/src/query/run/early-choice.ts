/**
 * Early choice: optimistic selection of documents for a long write. It runs on a snapshot before
 * the transaction, in time slices with reads, so that it does not block the commit queue.
 *
 * The transaction then validates the selection. Documents that changed since, selected or not, are
 * matched again one by one; the change index finds them, including unflushed writes and those of
 * the transaction itself. If other documents also decide (another collection, an order or a
 * window), any change there voids the selection, and it is made again on a newer snapshot. So the
 * result is what the transaction itself would have selected (K35).
 *
 *   try in the queue ──after a slice──> early choice ──void──> early choice ─ … ─> in the queue
 */

import { assert, documentId } from "@bigpeer/protocol";
import { SLICE_MS } from "../../limits.ts";
import { AT_ONCE, type Steps } from "../../steps.ts";
import type { Transaction } from "../../store/transaction.ts";
import type { StoredDocument } from "../../store/view.ts";
import { ChangedView } from "./changed-view.ts";
import type { Choices, Chooser, Execution } from "./execution.ts";
import type { Lookout } from "./lookout.ts";

/** Thrown to leave a transaction without effect: it must select early, or once more. */
export const CHOOSE_EARLY: unique symbol = Symbol("choose early");

/** Early choices of one write before it selects inside the queue. */
export const EARLY_CHOICES_MAX = 3;

/** Changed documents that are matched again; with more of them a new selection is cheaper. */
const CHANGED_MAX = 10_000;

/** Selects inside the transaction what fits into one time slice; throws CHOOSE_EARLY after that. */
export class QuickChoices implements Choices {
  readonly #elapsed: () => number;
  #endMs: number | undefined;

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  begin(): void {
    this.#endMs = undefined;
  }

  *take<T>(chooser: Chooser<T>, execution: Execution): Steps<readonly T[]> {
    const steps = chooser.choose(execution);
    if (chooser.reads === undefined) return yield* steps;
    const next = steps.next();
    if (next.done === true) return next.value;
    this.#endMs ??= this.#elapsed() + SLICE_MS;
    try {
      for (;;) {
        if (this.#elapsed() >= this.#endMs) throw CHOOSE_EARLY;
        yield;
        const { done, value } = steps.next();
        if (done === true) return value;
      }
    } finally {
      steps.return([]);
    }
  }
}

/** A selection made on a snapshot. */
interface Chosen {
  readonly items: readonly unknown[];
  readonly bytes: number;
  /** Probable mistakes seen during the selection. */
  readonly lookout?: Lookout | undefined;
}

/** Placeholder of a selection that is not made early. */
const NOTHING: Chosen = { items: [], bytes: 0 };

const NONE: ReadonlySet<string> = new Set();

/** Makes the selections, on the snapshot of this transaction. */
export class ChoosingEarly implements Choices {
  readonly #txnId: number;
  readonly #chosen: Chosen[] = [];

  constructor(txnId: number) {
    this.#txnId = txnId;
  }

  begin(): void {
    this.#chosen.length = 0;
  }

  *take<T>(chooser: Chooser<T>, execution: Execution): Steps<readonly T[]> {
    if (chooser.reads === undefined) {
      this.#chosen.push(NOTHING);
      return [];
    }
    const { budget } = execution.run;
    const before = budget.taken;
    const items = yield* chooser.choose(execution);
    this.#chosen.push({ items, bytes: budget.taken - before, lookout: execution.lookout });
    return items;
  }

  get made(): Choices {
    return new EarlyChoices(this.#txnId, this.#chosen);
  }
}

/** Validates inside a transaction the selections made on a snapshot. */
class EarlyChoices implements Choices {
  readonly #txnId: number;
  readonly #chosen: readonly Chosen[];
  #next = 0;

  constructor(txnId: number, chosen: readonly Chosen[]) {
    this.#txnId = txnId;
    this.#chosen = chosen;
  }

  begin(): void {
    this.#next = 0;
  }

  *take<T>(chooser: Chooser<T>, execution: Execution): Steps<readonly T[]> {
    const chosen = this.#chosen[this.#next++];
    const { transaction, run } = execution;
    const { reads, each } = chooser;
    assert(chosen !== undefined && transaction !== undefined, "a choice that was made early");
    // A choice by id, or outside of collections, is made in the transaction.
    if (reads === undefined) return yield* chooser.choose(execution);
    run.budget.take(chosen.bytes);
    for (const collection of reads) {
      if (transaction.isChangedSince(collection, this.#txnId)) throw CHOOSE_EARLY;
    }
    const items = chosen.items as readonly T[];
    const changed = each === undefined ? NONE : yield* this.#changed(transaction, each);
    if (each === undefined || changed.size === 0) {
      if (chosen.lookout !== undefined) execution.lookout?.adopt(chosen.lookout);
      return items;
    }
    const view = new ChangedView(execution.view, each, changed);
    const matched = yield* chooser.choose({ ...execution, view });
    return (yield* mergedChoice(
      items as readonly StoredDocument[],
      changed,
      matched as readonly StoredDocument[],
    )) as readonly T[];
  }

  /** Keys of the ids of changed documents, in order. */
  *#changed(transaction: Transaction, collection: string): Steps<ReadonlySet<string>> {
    if (transaction.isForgottenSince(collection, this.#txnId)) throw CHOOSE_EARLY;
    const keys: string[] = [];
    for (const { id } of transaction.view.changedSince(collection, this.#txnId)) {
      if (keys.push(documentId(id).key) > CHANGED_MAX) throw CHOOSE_EARLY;
      if (keys.length % AT_ONCE === 0) yield;
    }
    return new Set(keys.sort());
  }
}

/** Selected documents that did not change, and changed ones that match, in the order of ids. */
function* mergedChoice(
  chosen: readonly StoredDocument[],
  changed: ReadonlySet<string>,
  matched: readonly StoredDocument[],
): Steps<readonly StoredDocument[]> {
  const added = matched.map((document) => ({ document, key: documentId(document.id).key }));
  const merged: StoredDocument[] = [];
  let next = 0;
  for (const [i, document] of chosen.entries()) {
    if (i % AT_ONCE === 0) yield;
    const { key } = documentId(document.id);
    for (let each = added[next]; each !== undefined && each.key < key; each = added[++next]) {
      merged.push(each.document);
    }
    if (!changed.has(key)) merged.push(document);
  }
  for (const { document } of added.slice(next)) merged.push(document);
  return merged;
}
