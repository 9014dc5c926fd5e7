/**
 * Registry version: a number that changes with the registry. Caches of its content are valid while
 * it stays the same. Reading it is cheap.
 */

import type { Store } from "@bigpeer/engine/store";

export class RegistryState {
  readonly #store: Store;
  #txnId = -1;
  #version = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  get version(): number {
    const { txnId } = this.#store;
    if (txnId !== this.#txnId) {
      this.#txnId = txnId;
      this.#version++;
    }
    return this.#version;
  }

  /** Skips a transaction that changed nothing that is cached. */
  passOver(txnId: number): void {
    // In any other state, a change that counts came before.
    if (this.#txnId === txnId - 1) this.#txnId = txnId;
  }
}
