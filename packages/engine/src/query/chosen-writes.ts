/**
 * ChosenWrites: submits writes that select documents by a condition. A quick selection happens
 * inside the transaction; a longer one before it (run/early-choice.ts).
 */

import type { Committed } from "../store/commit-queue.ts";
import type { Store } from "../store/store.ts";
import type { Steps } from "./frame/steps.ts";
import {
  CHOOSE_EARLY,
  type Choices,
  ChoosingEarly,
  EARLY_CHOICES_MAX,
  QuickChoices,
} from "./run/early-choice.ts";
import type { Execution } from "./run/execution.ts";
import type { SliceTaking } from "./run/time-slicer.ts";
import type { Begin } from "./statement-transaction.ts";

/** Submits a write that takes its selections from `choices`; undefined: it selects itself. */
export type Submit<T> = (choices: Choices | undefined) => Promise<Committed<T>>;

/** A write that selects documents. */
export interface ChoosingWrite {
  /** Makes the selections and nothing else. */
  readonly choose: (execution: Execution) => Steps<unknown>;
  readonly begin: Begin;
  /** The owner whose time slices it uses. */
  readonly owner: string | undefined;
}

export class ChosenWrites {
  readonly #store: Store;
  readonly #slicer: SliceTaking;
  readonly #elapsed: () => number;

  constructor(store: Store, slicer: SliceTaking, elapsed: () => number) {
    this.#store = store;
    this.#slicer = slicer;
    this.#elapsed = elapsed;
  }

  submit<T>(write: ChoosingWrite, submit: Submit<T>): Promise<Committed<T>> {
    return submit(new QuickChoices(this.#elapsed)).catch((error: unknown) => {
      if (error !== CHOOSE_EARLY) throw error;
      return this.#submitChosen(write, submit);
    });
  }

  /** Selects before the transaction; if others keep changing the documents, inside it. */
  async #submitChosen<T>(write: ChoosingWrite, submit: Submit<T>): Promise<Committed<T>> {
    for (let tries = 0; tries < EARLY_CHOICES_MAX; tries++) {
      const choices = await this.#chooseEarly(write);
      if (choices === undefined) break;
      try {
        return await submit(choices);
      } catch (error) {
        if (error !== CHOOSE_EARLY) throw error;
      }
    }
    return submit(undefined);
  }

  /** Undefined if there were warnings: their rows may differ in the end. */
  async #chooseEarly({ choose, begin, owner }: ChoosingWrite): Promise<Choices | undefined> {
    // It has used a slice already.
    await this.#slicer.wait(owner);
    const snapshot = this.#store.snapshot();
    const choosing = new ChoosingEarly(snapshot.txnId);
    const execution = begin(snapshot, undefined, choosing);
    const { budget } = execution.run;
    budget.release();
    await this.#slicer.take(choose(execution), budget, snapshot, owner);
    return execution.warnings.total > 0 ? undefined : choosing.made;
  }
}
