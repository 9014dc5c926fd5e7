/**
 * Shared values: what all components that use one peer have of it, each value once. Components with
 * the same key share an observer, a subscription or a download.
 *
 * A value is started for its first listener. It is stopped soon after its last one has gone, and not
 * at once: strict mode removes a listener and adds it again.
 */

import type { ProvidedPeer } from "./provided-peer.ts";

/** Begins to follow something of a peer. Returns a function that ends it. */
export type Start<T> = (peer: ProvidedPeer, set: (value: T) => void) => () => void;

interface SharedValue {
  value: unknown;
  readonly listeners: Set<() => void>;
  stop: () => void;
}

const byPeer = new WeakMap<ProvidedPeer, SharedValues>();

export class SharedValues {
  readonly peer: ProvidedPeer;
  readonly #values = new Map<string, SharedValue>();

  private constructor(peer: ProvidedPeer) {
    this.peer = peer;
  }

  /** The same for the same peer, also in another provider. */
  static of(peer: ProvidedPeer): SharedValues {
    const values = byPeer.get(peer) ?? new SharedValues(peer);
    byPeer.set(peer, values);
    return values;
  }

  /** Undefined before the first value. */
  get(key: string): unknown {
    return this.#values.get(key)?.value;
  }

  /** Returns a function that removes the listener. */
  listen<T>(key: string, start: Start<T>, listener: () => void): () => void {
    const shared = this.#values.get(key) ?? this.#start(key, start);
    // The same function may be added twice.
    const own = (): void => listener();
    shared.listeners.add(own);
    return () => {
      shared.listeners.delete(own);
      setTimeout(() => this.#stopUnused(key, shared));
    };
  }

  #start<T>(key: string, start: Start<T>): SharedValue {
    const shared: SharedValue = { value: undefined, listeners: new Set(), stop: () => {} };
    this.#values.set(key, shared);
    shared.stop = start(this.peer, (value) => {
      if (Object.is(value, shared.value)) return;
      shared.value = value;
      for (const listener of shared.listeners) listener();
    });
    return shared;
  }

  #stopUnused(key: string, shared: SharedValue): void {
    if (shared.listeners.size > 0 || this.#values.get(key) !== shared) return;
    this.#values.delete(key);
    shared.stop();
  }
}
