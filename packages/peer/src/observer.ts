/**
 * Observer: delivers the results of a live query to one callback, one at a time.
 *
 * While the callback is busy, changes are combined. Then it gets the newest result, if that differs
 * from the last one: in its rows or, once the callback has read them, in its pending ids. The
 * callback is busy until it returns or its promise settles and, if it takes `signalNext`, until it
 * has called that. If it throws, the error is reported and the observer stays active.
 */

import { equalValues, type Value } from "@bigpeer/protocol";
import { Gate } from "./gate.ts";
import { type PlainObject, type PlainValue, plainCopy } from "./plain-value.ts";

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
  /**
   * Ids of the documents in the result that have writes which the server has not answered. A row
   * counts if it has the field `_id` of its document. A callback that reads this field is also
   * called when only these ids change.
   */
  readonly pendingIds: PlainValue[];
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

/** Who gets the rows of an observed query. */
export interface Receiver {
  readonly callback: ObserverCallback<never>;
  /** Receives the error of the query, which is reported as an error of the peer otherwise. */
  readonly onFailed?: ((error: Error) => unknown) | undefined;
  /** Whether it gets the rows of the peer itself, which it must not change, instead of copies. */
  readonly isShared?: boolean;
}

export interface ObserverOptions extends Receiver {
  readonly query: string;
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

/** A result of the query. */
export interface Offer {
  readonly rows: readonly Value[];
  /** The ids that are pending when it is called. */
  readonly pendingIds: () => readonly Value[];
}

/** A result as the callback gets it. */
interface Given {
  readonly rows: readonly Value[];
  readonly pendingIds: readonly Value[];
}

export class Observer implements StoreObserver {
  readonly #options: ObserverOptions;
  #newest: Offer | undefined;
  #given: Given | undefined;
  #isAtWork = false;
  /** Whether the callback has read the pending ids of a result. */
  #isReadingPending = false;
  isCancelled = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  get query(): string {
    return this.#options.query;
  }

  get onFailed(): Receiver["onFailed"] {
    return this.#options.onFailed;
  }

  /** Sets the current result of the query. */
  offer(newest: Offer): void {
    this.#newest = newest;
    this.look();
  }

  /** Delivers the current result if it differs from the last one; its pending ids may. */
  look(): void {
    if (!this.#isAtWork && this.#newest !== undefined) void this.#work();
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
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#given = next;
      await this.#give(next);
    }
    this.#isAtWork = false;
  }

  /** The result to deliver; undefined if the callback has seen the newest. */
  #next(): Given | undefined {
    const [newest, given] = [this.#newest, this.#given];
    if (this.isCancelled || newest === undefined) return undefined;
    const { rows } = newest;
    const pendingIds = newest.pendingIds();
    if (given === undefined) return { rows, pendingIds };
    const isSame = rows === given.rows || equalValues(rows, given.rows);
    const isPendingSame = !this.#isReadingPending || equalValues(pendingIds, given.pendingIds);
    return isSame && isPendingSame ? undefined : { rows, pendingIds };
  }

  async #give({ rows, pendingIds }: Given): Promise<void> {
    const { callback, onError } = this.#options;
    const signalled = new Gate();
    try {
      const result = this.#resultOf(rows, pendingIds);
      await callback(result, () => signalled.open());
      if (callback.length > 1) await signalled.opened;
    } catch (error) {
      onError(error);
    }
  }

  /** Notes the first read of the pending ids: from then on a change of them is delivered. */
  #resultOf(rows: readonly Value[], pendingIds: readonly Value[]): ObservedResult<never> {
    const items = (this.#options.isShared === true ? rows : rows.map(plainCopy)) as never[];
    const ids = pendingIds.map(plainCopy);
    const noteRead = (): void => {
      if (this.#isReadingPending) return;
      this.#isReadingPending = true;
      this.look();
    };
    return {
      items,
      get pendingIds() {
        noteRead();
        return ids;
      },
    };
  }
}
