/**
 * useExecuteQuery: a statement that an app runs itself, and what became of the last run.
 */

import { useCallback, useState } from "../../react/react.ts";
import type { AnyValue } from "../any-value.ts";
import type { Ditto, DQLQueryArguments, QueryResultItem } from "../index.ts";
import { useDitto } from "./use-ditto.ts";
import { useLatest } from "./use-latest.ts";

export interface UseExecuteQueryParams<T extends DQLQueryArguments = DQLQueryArguments> {
  queryArguments?: T;
  onError?: (error: unknown) => void;
  persistenceDirectory?: string;
}

/** Its arguments add to those of the hook, and win over them. */
export type ExecutionFunction<T> = (
  queryArguments?: Partial<T>,
  onError?: (error: unknown) => void,
) => Promise<void>;

export type UseExecuteQueryReturn<T, U extends DQLQueryArguments = DQLQueryArguments> = [
  ExecutionFunction<U>,
  {
    ditto?: Ditto;
    error: unknown;
    items?: QueryResultItem<T>[];
    isLoading: boolean;
    reset: () => void;
    mutatedDocumentIDs?: string[];
  },
];

interface Run<T> {
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly items?: QueryResultItem<T>[];
  readonly mutatedDocumentIDs?: string[];
}

const NONE: Run<never> = { isLoading: false, error: null };

export function useExecuteQuery<T = AnyValue, U extends DQLQueryArguments = DQLQueryArguments>(
  query: string,
  params: UseExecuteQueryParams<U> = {},
): UseExecuteQueryReturn<T, U> {
  const { ditto } = useDitto(params.persistenceDirectory);
  const [run, setRun] = useState<Run<T>>(NONE);
  const latest = useLatest({ ditto, params });
  const execute: ExecutionFunction<U> = useCallback(
    async (queryArguments, onError) => {
      const given = latest.current;
      setRun({ isLoading: true, error: null });
      try {
        if (given.ditto === null) throw new Error("expected a Ditto instance, found none");
        const args = { ...given.params.queryArguments, ...queryArguments };
        const result = await given.ditto.store.execute<T>(query, args);
        const mutatedDocumentIDs = result.mutatedDocumentIDs() as string[];
        setRun({ isLoading: false, error: null, items: result.items, mutatedDocumentIDs });
      } catch (error) {
        setRun({ isLoading: false, error });
        (onError ?? given.params.onError)?.(error);
      }
    },
    [query],
  );
  const reset = useCallback(() => setRun(NONE), []);
  return [execute, { ...run, reset, ...(ditto !== null && { ditto }) }];
}
