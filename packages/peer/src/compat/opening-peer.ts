/**
 * Opening peer: the peer of an instance, which may still be opening, or be opened anew for another
 * device name. Calls that cannot wait for it are made when it is open, in their order.
 */

import type { HostPeer } from "./host.ts";

type Call = (peer: HostPeer) => void;

export class OpeningPeer {
  readonly #open: () => Promise<HostPeer>;
  /** What has to be done with each peer. */
  readonly #calls = new Set<Call>();
  #opened: Promise<HostPeer>;
  #peer: HostPeer | undefined;

  /** `before` is waited for. */
  constructor(open: () => Promise<HostPeer>, before: Promise<void> = Promise.resolve()) {
    this.#open = open;
    this.#opened = this.#begin(before);
  }

  get opened(): Promise<HostPeer> {
    return this.#opened;
  }

  /** Undefined while it opens. */
  get peer(): HostPeer | undefined {
    return this.#peer;
  }

  /**
   * Calls it at once if the peer is open, otherwise later; and again with each other peer. What it
   * throws at once is for the caller. Returns a function after which it is not called any more.
   */
  whenOpen(call: Call): () => void {
    if (this.#peer !== undefined) call(this.#peer);
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  /** Closes the peer and opens another one on the same documents. */
  reopen(): void {
    const former = this.#opened;
    this.#peer = undefined;
    this.#opened = this.#begin(former.then((peer) => peer.close()));
  }

  #begin(before: Promise<void>): Promise<HostPeer> {
    const opened = before.then(this.#open).then((peer) => {
      this.#peer = peer;
      // A call may end others.
      for (const call of Array.from(this.#calls)) call(peer);
      return peer;
    });
    // Each call that needs the peer rejects; an instance that is not used needs none.
    opened.catch(() => {});
    return opened;
  }
}
