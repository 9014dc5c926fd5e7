/**
 * Observers: all observers of a store. After each commit they are notified if the rows of their
 * query changed.
 */

import { AsyncResource } from "node:async_hooks";
import type { Platform } from "@bigpeer/engine";
import {
  type Advance,
  LiveQueries,
  type LiveQuery,
  type Registration,
} from "@bigpeer/engine/query";
import type { Store } from "@bigpeer/engine/store";
import { PeerError } from "@bigpeer/protocol";
import { Observer, type ObserverCallback, type StoreObserver } from "./observer.ts";

export interface ObserversOptions {
  readonly store: Store;
  readonly platform: Platform;
  readonly appId: string;
  readonly onError: (error: unknown) => void;
}

export class Observers {
  readonly #live: LiveQueries;
  readonly #onError: (error: unknown) => void;
  readonly #byQuery = new Map<LiveQuery, Set<Observer>>();
  readonly #all = new Set<Observer>();
  readonly #stop: () => void;
  #isClosed = false;

  constructor({ onError, ...options }: ObserversOptions) {
    this.#live = new LiveQueries(options);
    this.#onError = onError;
    // A commit may run inside a transaction of the app; observers must not.
    this.#stop = options.store.onCommit(AsyncResource.bind(() => this.#advance()));
  }

  get list(): StoreObserver[] {
    return [...this.#all];
  }

  /** Throws if the query is refused. Later failures are reported as errors. */
  register(query: string, args: unknown, callback: ObserverCallback<never>): StoreObserver {
    if (this.#isClosed) throw new PeerError("store.closed", "the store is closed");
    let release: (() => void) | undefined;
    const observer = new Observer({
      query,
      callback,
      onError: this.#onError,
      onEnd: () => {
        this.#all.delete(observer);
        release?.();
      },
    });
    const hold = (registration: Registration): void => {
      if (observer.isCancelled) registration.close();
      else release = this.#hold(registration, observer);
    };
    const registering = this.#live.register({ statement: query, args });
    this.#all.add(observer);
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
    observer.offer(query.rows);
    return () => {
      close();
      observers.delete(observer);
      if (observers.size === 0) this.#byQuery.delete(query);
    };
  }

  #advance(): void {
    if (this.#isClosed) return;
    try {
      const advance = this.#live.advance();
      if (!(advance instanceof Promise)) this.#notify(advance);
      else {
        advance.then(
          (late) => this.#notify(late),
          (error: unknown) => this.#report(error),
        );
      }
    } catch (error) {
      this.#report(error);
    }
  }

  #notify({ changed }: Advance): void {
    for (const query of changed) {
      for (const observer of this.#byQuery.get(query) ?? []) {
        if (query.failure === undefined) observer.offer(query.rows);
        else this.#fail(observer, query.failure);
      }
    }
  }

  #fail(observer: Observer, error: unknown): void {
    if (observer.isCancelled) return;
    observer.cancel();
    this.#report(error);
  }

  /** Errors that come from closing the peer are not reported. */
  #report(error: unknown): void {
    if (!this.#isClosed) this.#onError(error);
  }
}
