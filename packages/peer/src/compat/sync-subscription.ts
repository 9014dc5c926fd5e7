/**
 * Sync subscription: a query whose documents the server sends to this peer.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import type { SyncSubscription as PeerSubscription } from "../sync.ts";
import type { AnyValue } from "./any-value.ts";
import type { Instance } from "./instance.ts";
import { Logger } from "./logger.ts";
import type { BoundQuery } from "./query-arguments.ts";

export class SyncSubscription<D extends Instance = Instance> {
  readonly ditto: D;
  readonly #query: BoundQuery;
  readonly #onEnd: (subscription: SyncSubscription<D>) => void;
  #held: PeerSubscription | undefined;
  #forget: (() => void) | undefined;
  #isCancelled = false;

  /** Throws what the peer throws for the query, if it is open. */
  constructor(ditto: D, query: BoundQuery, onEnd: (subscription: SyncSubscription<D>) => void) {
    this.ditto = ditto;
    this.#query = query;
    this.#onEnd = onEnd;
    const { opening } = ditto;
    const isOpen = opening.peer !== undefined;
    this.#forget = opening.whenOpen((peer) => {
      try {
        this.#held = peer.sync.registerSubscription(query.queryString, query.peerArguments);
      } catch (error) {
        if (isOpen) throw error;
        Logger.error(`the subscription to ${query.queryString} ended: ${String(error)}`);
        this.cancel();
      }
    });
  }

  get queryString(): string {
    return this.#query.queryString;
  }

  /** A copy that cannot be changed. */
  get queryArguments(): Readonly<AnyValue> | undefined {
    return this.#query.queryArguments;
  }

  get queryArgumentsCBORData(): Uint8Array | undefined {
    return this.#query.queryArgumentsCBORData;
  }

  get queryArgumentsJSONString(): string | undefined {
    return this.#query.queryArgumentsJSONString;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Ends it. Its documents stay on the device. A second call has no effect. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#forget?.();
    this.#held?.cancel();
    this.#onEnd(this);
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}
