/**
 * Store observer: an observed query of an app.
 */

/// <reference lib="esnext.disposable" preserve="true" />

import type { AnyValue } from "./any-value.ts";
import type { Instance } from "./instance.ts";
import type { BoundQuery } from "./query-arguments.ts";
import type { QueryResult } from "./query-result.ts";

export type StoreObservationHandler<T = AnyValue> = (queryResult: QueryResult<T>) => void;

/** It gets the next result only after it has called `signalNext`. */
export type StoreObservationHandlerWithSignalNext<T = AnyValue> = (
  queryResult: QueryResult<T>,
  signalNext: () => AnyValue,
) => void;

/** As the store holds an observer. */
export interface HeldObserver {
  readonly isCancelled: boolean;
  cancel(): void;
}

export class StoreObserver<D extends Instance = Instance> {
  readonly ditto: D;
  readonly #query: BoundQuery;
  readonly #held: HeldObserver;

  constructor(ditto: D, query: BoundQuery, held: HeldObserver) {
    this.ditto = ditto;
    this.#query = query;
    this.#held = held;
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
    return this.#held.isCancelled;
  }

  /** Ends it. A second call has no effect. */
  cancel(): void {
    this.#held.cancel();
  }

  [Symbol.dispose](): void {
    this.cancel();
  }
}
