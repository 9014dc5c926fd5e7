/**
 * The state of the registry as a number: what was read of it may be remembered while the number
 * stays the same. It costs nothing to ask.
 */

import type { Store } from "@bigpeer/engine";

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

  /** Tells of a transaction that changed nothing that anybody remembers. */
  passOver(txnId: number): void {
    // Behind any other state there was a change that counts.
    if (this.#txnId === txnId - 1) this.#txnId = txnId;
  }
}
