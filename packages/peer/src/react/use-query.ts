/**
 * useQuery: the rows of a SELECT, and again each time they change.
 */

import type { Arguments } from "../local-store.ts";
import type { PlainObject } from "../plain-value.ts";
import { followQuery, LOADING, type QueryState } from "./followed-query.ts";
import { useProvided, useShared } from "./peer-context.ts";
import { valueKey } from "./value-key.ts";

const ABSENT: QueryState<never> = { rows: [], error: undefined, isLoading: false };

/**
 * Renders the component with the rows of a SELECT, and again each time they change. Components with
 * the same query and equal arguments share one observer. The rows come from this device: use
 * {@link useSubscription} to have the documents sent by the server.
 *
 * @param statement - A SELECT without the clock, random values and system collections; undefined for
 * no query at the moment.
 * @param args - A value for each `:name` in the query, compared by value.
 * @returns The rows, of the type that you name, which the compiler takes from you unchecked.
 */
export function useQuery<T = PlainObject>(
  statement: string | undefined,
  args?: Arguments,
): QueryState<T> {
  const { error } = useProvided();
  const key = statement === undefined ? undefined : `query ${valueKey([statement, args])}`;
  const initial = statement === undefined ? ABSENT : LOADING;
  const state = useShared<QueryState<T>>(key, followQuery<T>(statement ?? "", args), initial);
  return error === undefined ? state : { rows: [], error, isLoading: false };
}
