/**
 * Peer source: the peer of a provider, which is given, or opened while the provider is mounted.
 *
 * Strict mode mounts, unmounts and mounts again: so a peer is closed only if no mount follows at
 * once. A peer that is still being opened then is closed as soon as it is open.
 */

import type { ProvidedPeer } from "./provided-peer.ts";
import { SharedValues } from "./shared-values.ts";

/** Neither, while the peer is being opened. */
export interface PeerState {
  readonly values?: SharedValues;
  /** Why the peer cannot be opened. */
  readonly error?: Error;
}

export interface PeerSourceOptions {
  readonly open: () => ProvidedPeer | Promise<ProvidedPeer>;
  /** Whether it closes the peer. */
  readonly isOwned: boolean;
}

export class PeerSource {
  readonly #options: PeerSourceOptions;
  readonly #listeners = new Set<() => void>();
  #state: PeerState = {};
  #mounts = 0;
  #opening: Promise<ProvidedPeer> | undefined;
  /** Settles when the last peer is closed, if there was one. */
  #closed: Promise<unknown> | undefined;

  constructor(options: PeerSourceOptions) {
    this.#options = options;
  }

  /** A source of a peer that is open. */
  static of(peer: ProvidedPeer): PeerSource {
    const source = new PeerSource({ open: () => peer, isOwned: false });
    source.#state = { values: SharedValues.of(peer) };
    return source;
  }

  get state(): PeerState {
    return this.#state;
  }

  /** Returns a function that removes the listener. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Opens the peer, unless it is open. Returns a function for the end of the mount. */
  mount(): () => void {
    this.#mounts++;
    if (this.#opening === undefined) this.#open();
    return () => {
      this.#mounts--;
      setTimeout(() => this.#closeUnused());
    };
  }

  /** Waits for the peer; rejects if it cannot be opened. */
  async peer(): Promise<ProvidedPeer> {
    while (this.#state.values === undefined) {
      if (this.#state.error !== undefined) throw this.#state.error;
      await new Promise<void>((resolve) => {
        const remove = this.listen(() => {
          remove();
          resolve();
        });
      });
    }
    return this.#state.values.peer;
  }

  #open(): void {
    const opening = Promise.resolve(this.#closed).then(this.#options.open);
    this.#opening = opening;
    opening.then(
      (peer) => this.#set(opening, { values: SharedValues.of(peer) }),
      (error: unknown) =>
        this.#set(opening, { error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }

  #set(opening: Promise<ProvidedPeer>, state: PeerState): void {
    if (
      this.#opening !== opening ||
      (state.values === this.#state.values && state.values !== undefined)
    )
      return;
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  #closeUnused(): void {
    const opening = this.#opening;
    if (this.#mounts > 0 || opening === undefined || !this.#options.isOwned) return;
    this.#opening = undefined;
    this.#state = {};
    // An error of opening was in the state; one of closing is for the app to see.
    this.#closed = opening.then(
      (peer) => peer.close(),
      () => undefined,
    );
  }
}
