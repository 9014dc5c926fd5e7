/**
 * Observers: all observers of a store. After each commit they are notified if the rows of their
 * query changed.
 */

import type { Platform } from "@bigpeer/engine";
import {
  type Advance,
  LiveQueries,
  type LiveQuery,
  type Registration,
} from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import { PeerError, type Value } from "@bigpeer/protocol";
import type { PeerHost } from "./host/peer-host.ts";
import { Observer, type Receiver, type StoreObserver } from "./observer.ts";
import { type PendingIds, pendingIdsIn } from "./pending-ids.ts";

export interface ObserversOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly host: Pick<PeerHost, "loadCode" | "outside">;
  readonly appId: string;
  /** Follows the documents with pending writes; left out, none are. */
  readonly pending?: () => PendingIds;
  readonly onError: (error: unknown) => void;
}

export class Observers {
  readonly #live: LiveQueries;
  readonly #host: ObserversOptions["host"];
  readonly #onError: (error: unknown) => void;
  readonly #byQuery = new Map<LiveQuery, Set<Observer>>();
  readonly #all = new Set<Observer>();
  readonly #stop: () => void;
  readonly #followPending: (() => PendingIds) | undefined;
  /** Set while there are observers. */
  #pending: PendingIds | undefined;
  #isClosed = false;

  constructor({ onError, host, pending, ...options }: ObserversOptions) {
    this.#followPending = pending;
    this.#host = host;
    this.#live = new LiveQueries(options);
    this.#onError = onError;
    // A commit may run inside a transaction of the app; observers must not.
    this.#stop = options.store.onCommit(host.outside(() => this.#advance()));
  }

  get list(): StoreObserver[] {
    return [...this.#all];
  }

  /** Throws if the query is refused at once. Later failures are reported as errors. */
  register(query: string, args: unknown, receiver: Receiver): StoreObserver {
    if (this.#isClosed) throw new PeerError("store.closed", "the store is closed");
    let release: (() => void) | undefined;
    const observer = new Observer({
      ...receiver,
      query,
      onError: this.#onError,
      onEnd: () => {
        this.#all.delete(observer);
        if (this.#all.size === 0) this.#pending = undefined;
        release?.();
      },
    });
    const hold = (registration: Registration): void => {
      if (observer.isCancelled) registration.close();
      else release = this.#hold(registration, observer);
    };
    const begin = () => this.#live.register({ statement: query, args });
    const registering = this.#host.loadCode(query)?.then(begin) ?? begin();
    this.#all.add(observer);
    this.#pending ??= this.#followPending?.();
    if (!(registering instanceof Promise)) hold(registering);
    else {
      registering.then(hold).then(
        // Applies what became durable while the query was read.
        () => this.#advance(),
        (error: unknown) => this.#fail(observer, error),
      );
    }
    return observer;
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    for (const observer of this.#all) observer.cancel();
  }

  /** Adds an observer to its query. Returns a function that removes it. */
  #hold({ query, close }: Registration, observer: Observer): () => void {
    const observers = this.#byQuery.get(query) ?? new Set();
    this.#byQuery.set(query, observers.add(observer));
    this.#offer(query, observer);
    return () => {
      close();
      observers.delete(observer);
      if (observers.size === 0) this.#byQuery.delete(query);
    };
  }

  #advance(): void {
    if (this.#isClosed) return;
    try {
      const isAnswered = this.#pending?.refresh() === true;
      const advance = this.#live.advance();
      if (!(advance instanceof Promise)) this.#notify(advance, isAnswered);
      else {
        advance.then(
          (late) => this.#notify(late, isAnswered),
          (error: unknown) => this.#report(error),
        );
      }
    } catch (error) {
      this.#report(error);
    }
  }

  /** `isAnswered`: writes came or were answered, which may matter to any query. */
  #notify({ changed }: Advance, isAnswered: boolean): void {
    for (const query of changed) {
      for (const observer of this.#byQuery.get(query) ?? []) {
        if (query.failure === undefined) this.#offer(query, observer);
        else this.#fail(observer, query.failure);
      }
    }
    if (isAnswered) for (const observer of this.#all) observer.look();
  }

  #offer(query: LiveQuery, observer: Observer): void {
    const { rows, collections } = query;
    const pendingIds = (): readonly Value[] =>
      this.#pending === undefined ? [] : pendingIdsIn(rows, collections, this.#pending);
    observer.offer({ rows, pendingIds });
  }

  #fail(observer: Observer, error: unknown): void {
    if (observer.isCancelled) return;
    observer.cancel();
    if (observer.onFailed === undefined) this.#report(error);
    else observer.onFailed(error as Error);
  }

  /** Errors that come from closing the peer are not reported. */
  #report(error: unknown): void {
    if (!this.#isClosed) this.#onError(error);
  }
}
