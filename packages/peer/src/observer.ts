/**
 * Observer: gives the results of a query to one callback, one at a time.
 *
 * While the callback is at work changes are gathered; then it gets the newest result, if that is
 * another one than it has seen. It is at work until it has returned (a promise: until it is settled)
 * and, when it takes `signalNext`, until it has called it. One that throws is told of, and goes on.
 */

import { equalValues, type Value } from "@bigpeer/protocol";
import { Gate } from "./gate.ts";
import { type PlainObject, plainCopy } from "./plain-value.ts";

export interface ObservedResult<T = PlainObject> {
  readonly items: T[];
}

/** One that takes a second parameter gets the next result only after it has called it. */
export type ObserverCallback<T = PlainObject> = (
  result: ObservedResult<T>,
  signalNext: () => void,
) => unknown;

export interface ObserverOptions {
  readonly query: string;
  readonly callback: ObserverCallback<never>;
  /** Told what a callback threw. */
  readonly onError: (error: unknown) => void;
  /** Called once, when nothing more is to come. */
  readonly onEnd: () => void;
}

/** What an app holds of an observer. */
export interface StoreObserver {
  readonly query: string;
  readonly isCancelled: boolean;
  /** No result comes after it. May be called again. */
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

  /** The query has these rows now. */
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
    // Whoever registers it holds it before its first result.
    await Promise.resolve();
    for (let rows = this.#next(); rows !== undefined; rows = this.#next()) {
      this.#given = rows;
      await this.#give(rows);
    }
    this.#isAtWork = false;
  }

  /** Undefined when the callback has seen the newest. */
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
