/**
 * Observer: delivers the results of a live query to one callback, one at a time.
 *
 * While the callback is busy, changes are combined. Then it gets the newest result, if that differs
 * from the last one. It is busy until it returns or its promise settles and, if it takes
 * `signalNext`, until it has called that. If it throws, the error is reported and the observer
 * stays active.
 */

import { equalValues, type Value } from "@bigpeer/protocol";
import { Gate } from "./gate.ts";
import { type PlainObject, plainCopy } from "./plain-value.ts";

/**
 * The current rows of an observed query.
 *
 * @example
 * const count = ({ items }: ObservedResult): void => console.log("tasks:", items.length);
 * peer.store.registerObserver("SELECT * FROM tasks", count);
 */
export interface ObservedResult<T = PlainObject> {
  /** All rows of the result: copies that you can change. */
  readonly items: T[];
}

/**
 * Receives the rows of an observed query. While it runs, or its promise is pending, the peer
 * collects changes; it then calls it with the newest result. A callback with a second parameter
 * gets the next result only after it has called `signalNext()`. If it throws, the peer emits
 * `error` and the observer stays active.
 *
 * @example
 * const draw: ObserverCallback<{ title: string }> = ({ items }, signalNext) => {
 *   console.log(items.map(({ title }) => title));
 *   setImmediate(signalNext);
 * };
 * peer.store.registerObserver("SELECT title FROM tasks", draw);
 */
export type ObserverCallback<T = PlainObject> = (
  result: ObservedResult<T>,
  signalNext: () => void,
) => unknown;

export interface ObserverOptions {
  readonly query: string;
  readonly callback: ObserverCallback<never>;
  /** Receives what a callback threw. */
  readonly onError: (error: unknown) => void;
  /** Called once, when the observer ends. */
  readonly onEnd: () => void;
}

/**
 * An observer of a query, as {@link PeerDocuments.registerObserver} returns it.
 *
 * @example
 * const observer = peer.store.registerObserver("SELECT * FROM tasks", () => undefined);
 * observer.cancel();
 * console.log(observer.isCancelled); // true
 */
export interface StoreObserver {
  /** The query that it observes. */
  readonly query: string;
  /** Whether it has ended: by `cancel()`, by the end of the peer, or because its query failed. */
  readonly isCancelled: boolean;
  /** Ends the observer: no result comes after it. A second call has no effect. */
  cancel(): void;
}

export class Observer implements StoreObserver {
  readonly #options: ObserverOptions;
  #newest: readonly Value[] | undefined;
  #given: readonly Value[] | undefined;
  #isAtWork = false;
  isCancelled = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  get query(): string {
    return this.#options.query;
  }

  /** Sets the current rows of the query. */
  offer(rows: readonly Value[]): void {
    this.#newest = rows;
    if (!this.#isAtWork) void this.#work();
  }

  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#newest = undefined;
    this.#given = undefined;
    this.#options.onEnd();
  }

  async #work(): Promise<void> {
    this.#isAtWork = true;
    // The caller gets the observer before its first result.
    await Promise.resolve();
    for (let rows = this.#next(); rows !== undefined; rows = this.#next()) {
      this.#given = rows;
      await this.#give(rows);
    }
    this.#isAtWork = false;
  }

  /** The rows to deliver; undefined if the callback has seen the newest. */
  #next(): readonly Value[] | undefined {
    const [newest, given] = [this.#newest, this.#given];
    if (this.isCancelled || newest === undefined || newest === given) return undefined;
    return given !== undefined && equalValues(newest, given) ? undefined : newest;
  }

  async #give(rows: readonly Value[]): Promise<void> {
    const { callback, onError } = this.#options;
    const signalled = new Gate();
    try {
      await callback({ items: rows.map(plainCopy) as never[] }, () => signalled.open());
      if (callback.length > 1) await signalled.opened;
    } catch (error) {
      onError(error);
    }
  }
}
