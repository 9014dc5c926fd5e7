/**
 * The store of the registry, as its parts see it. They say what is to become of documents, and the
 * one place that writes it is here: so there is no change without its entry in the audit log.
 */

import type { Store, View } from "@bigpeer/engine";
import { assert, type Operation } from "@bigpeer/protocol";
import { type Author, type Deed, recordDeed } from "./audit-log.ts";
import { RegistryState } from "./registry-state.ts";

/** What somebody does to the registry, and what he is told. */
export interface Change<T> {
  readonly operations: readonly Operation[];
  /** What the audit log says of it: something, unless nothing changes. */
  readonly deeds: readonly Deed[];
  readonly result: T;
}

/** What the server notes for itself. */
export interface Note<T> {
  readonly operations: readonly Operation[];
  readonly result: T;
}

/** Decides by one state and the time in it. May be called more than once; what it throws is told. */
export type Decide<Outcome> = (view: View, nowMs: number) => Outcome;

/** Told of all that a change did, when it is durable. */
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

  /** Calls `listener` after each change, not after a note. Returns the way to stop it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  read<T>(work: (view: View) => T): T {
    return this.#store.read(work);
  }

  /** One transaction with its entries; none when nothing changes. */
  async change<T>(author: Author, decide: Decide<Change<T>>): Promise<T> {
    let done: readonly Operation[] = [];
    const { result } = await this.#store.transact((transaction) => {
      const change = decide(transaction.view, transaction.nowMs);
      const { operations, deeds } = change;
      const isTold = deeds.length > 0;
      assert(isTold === operations.length > 0, "a change has its entry, and nothing else has one");
      transaction.apply(operations);
      for (const deed of deeds) recordDeed(transaction, author, deed);
      done = operations;
      return change.result;
    }, author.requestId);
    if (done.length > 0) for (const listener of this.#listeners) listener(done);
    return result;
  }

  /** An entry without a change: something is done elsewhere, and only when this is durable. */
  async record(author: Author, deed: Deed): Promise<void> {
    const { txnId } = await this.#store.transact((transaction) => {
      recordDeed(transaction, author, deed, "runs");
    }, author.requestId);
    this.#state.passOver(txnId);
  }

  /** As change, without an entry, for what nobody asked for and nobody remembers. */
  async note<T>(decide: Decide<Note<T>>): Promise<T> {
    const committed = await this.#store.transact((transaction) => {
      const { operations, result } = decide(transaction.view, transaction.nowMs);
      transaction.apply(operations);
      return { txnId: transaction.txnId, result };
    });
    const { txnId, result } = committed.result;
    // What wrote nothing is told the last change of others.
    if (txnId === committed.txnId) this.#state.passOver(txnId);
    return result;
  }
}

/** The change of somebody who wants what there is already. */
export function noChange<T>(result: T): Change<T> {
  return { operations: [], deeds: [], result };
}
