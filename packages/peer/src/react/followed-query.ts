/**
 * Followed query: the state of a query, from an observer that all components with this query share.
 */

import type { Arguments } from "../local-store.ts";
import type { PlainObject } from "../plain-value.ts";
import { keepRows } from "./kept-rows.ts";
import type { Start } from "./shared-values.ts";

/** The current result of a query. */
export interface QueryState<T = PlainObject> {
  /**
   * All rows; none while they are loading. A row that did not change is the same object as before,
   * and so is the array if no row changed. Other components share them: do not change them.
   */
  readonly rows: readonly T[];
  /** Why the query failed, or why the peer cannot be opened. */
  readonly error: Error | undefined;
  /** Whether the first result is still to come. */
  readonly isLoading: boolean;
}

/** Before the first result. */
export const LOADING: QueryState<never> = { rows: [], error: undefined, isLoading: true };

/** Fails at once or later if the query is not valid; the rows before that stay. */
export function followQuery<T>(
  statement: string,
  args: Arguments | undefined,
): Start<QueryState<T>> {
  return ({ store }, set) => {
    let last: QueryState<T> = LOADING;
    const fail = (error: unknown): void =>
      set({ rows: last.rows, error: error as Error, isLoading: false });
    try {
      const observer = store.registerObserver<T>(
        statement,
        args,
        ({ items }) => {
          const rows = keepRows(last.rows, items);
          if (rows !== last.rows || last.isLoading)
            last = { rows, error: undefined, isLoading: false };
          set(last);
        },
        fail,
      );
      return () => observer.cancel();
    } catch (error) {
      fail(error);
      return () => {};
    }
  };
}
