/**
 * Registry store: applies every change of the registry as one transaction with its audit entries,
 * so no change lacks an entry. Callers decide the operations.
 */

import type { Store, View } from "@bigpeer/engine/store";
import { assert, type Operation } from "@bigpeer/protocol";
import { type AuditAction, type AuditedKind, type Author, recordAction } from "./audit-log.ts";
import { RegistryState } from "./registry-state.ts";

/** Operations of a change, their audit actions, and the result for the caller. */
export interface Change<T> {
  readonly operations: readonly Operation[];
  /** Audit actions; empty exactly when nothing changes. */
  readonly actions: readonly AuditAction[];
  readonly result: T;
}

/** Operations of a write without an audit entry. */
export interface Note<T> {
  readonly operations: readonly Operation[];
  readonly result: T;
}

/** Decides by one state and its time. May run more than once; the caller gets what it throws. */
export type Decide<Outcome> = (view: View, nowMs: number) => Outcome;

/** Called with the operations of a change when it is durable. */
export type ChangeListener = (operations: readonly Operation[]) => void;

export class RegistryStore {
  readonly #store: Store;
  readonly #state: RegistryState;
  readonly #listeners = new Set<ChangeListener>();

  constructor(store: Store) {
    this.#store = store;
    this.#state = new RegistryState(store);
  }

  /** See RegistryState. */
  get version(): number {
    return this.#state.version;
  }

  /** Calls `listener` after each change, not after a note. Returns a function that removes it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read<T>(work: (view: View) => T): T {
    return this.#store.read(work);
  }

  /** Applies a change as one transaction with its audit entries; none when nothing changes. */
  async change<T>(author: Author, decide: Decide<Change<T>>): Promise<T> {
    let done: readonly Operation[] = [];
    const { result } = await this.#store.transact(
      (transaction) => {
        const change = decide(transaction.view, transaction.nowMs);
        const { operations, actions } = change;
        const isAudited = actions.length > 0;
        assert(
          isAudited === operations.length > 0,
          "a change has its entry, and nothing else has one",
        );
        transaction.apply(operations);
        for (const audited of actions) recordAction(transaction, author, audited);
        done = operations;
        return change.result;
      },
      { requestId: author.requestId },
    );
    if (done.length > 0) this.applied(done);
    return result;
  }

  /** Tells the listeners of a change. */
  applied(operations: readonly Operation[]): void {
    for (const listener of this.#listeners) listener(operations);
  }

  /** Adds an audit entry of an action that changes nothing here, such as a run. */
  async record(author: Author, audited: AuditAction, kind: AuditedKind): Promise<void> {
    const { txnId } = await this.#store.transact(
      (transaction) => {
        recordAction(transaction, author, audited, kind);
      },
      { requestId: author.requestId },
    );
    this.#state.passOver(txnId);
  }

  /** As `change`, without an audit entry, for internal state that is not cached. */
  async note<T>(decide: Decide<Note<T>>): Promise<T> {
    const committed = await this.#store.transact((transaction) => {
      const { operations, result } = decide(transaction.view, transaction.nowMs);
      transaction.apply(operations);
      return { txnId: transaction.txnId, result };
    });
    const { txnId, result } = committed.result;
    // A transaction without writes returns the id of an earlier one.
    if (txnId === committed.txnId) this.#state.passOver(txnId);
    return result;
  }
}

/** Change without effect. */
export function noChange<T>(result: T): Change<T> {
  return { operations: [], actions: [], result };
}
