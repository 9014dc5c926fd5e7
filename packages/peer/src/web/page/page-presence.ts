/**
 * Page presence: `peer.presence` on a page. The worker sends the graph while the page observes it.
 */

import { checkFunction } from "../../argument-check.ts";
import { ownCopy, type PlainObject } from "../../plain-value.ts";
import type { PeerPresences, PresenceGraph, PresenceObserver } from "../../presence.ts";
import type { PeerState } from "../messages.ts";
import { isLost, type WorkerLink } from "./worker-link.ts";

export interface PagePresenceOptions {
  readonly link: WorkerLink;
  readonly state: () => PeerState;
  readonly onError: (error: unknown) => void;
}

type Callback = (graph: PresenceGraph) => unknown;

export class PagePresence implements PeerPresences {
  readonly #options: PagePresenceOptions;
  readonly #callbacks = new Map<PresenceObserver, Callback>();
  /** The graph that came last, while the page observes it. */
  #graph: PresenceGraph | undefined;

  constructor(options: PagePresenceOptions) {
    this.#options = options;
  }

  get graph(): PresenceGraph {
    return this.#graph ?? this.#options.state().graph;
  }

  observe(callback: Callback): PresenceObserver {
    checkFunction(callback, "a callback");
    let isStopped = false;
    const observer: PresenceObserver = {
      get isStopped() {
        return isStopped;
      },
      stop: () => {
        isStopped = true;
        if (this.#callbacks.delete(observer) && this.#callbacks.size === 0) this.#watch(false);
      },
    };
    this.#callbacks.set(observer, callback);
    if (this.#callbacks.size === 1) this.#watch(true);
    else if (this.#graph !== undefined) queueMicrotask(() => this.#notify(observer));
    return observer;
  }

  get peerMetadata(): PlainObject {
    return structuredClone(this.#options.state().peerMetadata);
  }

  setPeerMetadata(metadata: Readonly<Record<string, unknown>>): void {
    const { link, onError } = this.#options;
    link.call("setPeerMetadata", ownCopy(metadata)).catch(onError);
  }

  /** The worker sends a new graph. */
  changed(graph: PresenceGraph): void {
    this.#graph = graph;
    for (const observer of this.#callbacks.keys()) this.#notify(observer);
  }

  /** The session of this page is a new one. `before` was the state of another peer, if it is. */
  restore(before: PeerState | undefined): void {
    if (this.#callbacks.size > 0) this.#watch(true);
    if (before !== undefined) this.setPeerMetadata(before.peerMetadata);
  }

  close(): void {
    for (const observer of this.#callbacks.keys()) observer.stop();
  }

  #watch(isWatched: boolean): void {
    if (!isWatched) this.#graph = undefined;
    this.#options.link.call("watchPresence", isWatched).catch((error: unknown) => {
      // A new worker gets it again. Without observers, nothing is missing.
      if (!isWatched || this.#callbacks.size === 0 || isLost(error)) return;
      this.close();
      this.#options.onError(error);
    });
  }

  #notify(observer: PresenceObserver): void {
    const { onError } = this.#options;
    const callback = this.#callbacks.get(observer);
    try {
      const given = callback?.(structuredClone(this.graph));
      if (given instanceof Promise) given.catch(onError);
    } catch (error) {
      onError(error);
    }
  }
}
