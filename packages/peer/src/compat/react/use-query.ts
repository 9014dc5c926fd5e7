/**
 * useQuery: the rows of a SELECT, now and after each change. It also subscribes to them.
 */

import { useCallback, useEffect, useState } from "../../react/react.ts";
import type { AnyValue } from "../any-value.ts";
import type {
  Ditto,
  DQLQueryArguments,
  QueryResultItem,
  StoreObserver,
  SyncSubscription,
} from "../index.ts";
import { useDitto } from "./use-ditto.ts";
import { useLatest } from "./use-latest.ts";

export interface UseQueryParams<T = DQLQueryArguments> {
  queryArguments?: T;
  /** Whether it observes the documents of this device, without a subscription. */
  localOnly?: boolean;
  onError?: (error: unknown) => void;
  persistenceDirectory?: string;
}

export interface UseQueryReturn<T> {
  ditto: Ditto | null;
  error: unknown;
  items: QueryResultItem<T>[];
  isLoading: boolean;
  /** Registers the query again. */
  reset: () => Promise<void>;
  storeObserver?: StoreObserver | undefined;
  syncSubscription?: SyncSubscription | undefined;
}

/** What became of the query of a component. */
interface Observed<T> {
  readonly items: QueryResultItem<T>[];
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly storeObserver: StoreObserver | undefined;
  readonly syncSubscription: SyncSubscription | undefined;
}

const NONE: Observed<never> = {
  items: [],
  isLoading: true,
  error: null,
  storeObserver: undefined,
  syncSubscription: undefined,
};

export function useQuery<
  T = AnyValue,
  U extends DQLQueryArguments | undefined | null = DQLQueryArguments,
>(query: string, params: UseQueryParams<U> = {}): UseQueryReturn<T> {
  const { queryArguments, localOnly = false, persistenceDirectory } = params;
  const { ditto } = useDitto(persistenceDirectory);
  const [observed, setObserved] = useState<Observed<T>>(NONE);
  const [round, setRound] = useState(0);
  const latest = useLatest({ queryArguments, onError: params.onError });
  // Equal arguments are the same query, although an app makes a new object at each rendering.
  const key = keyOf(queryArguments);
  useEffect(() => {
    setObserved((last) => (last === NONE ? last : { ...last, isLoading: true }));
    if (ditto === null) return undefined;
    const args = latest.current.queryArguments ?? undefined;
    let storeObserver: StoreObserver | undefined;
    let syncSubscription: SyncSubscription | undefined;
    let isMounted = true;
    try {
      storeObserver = ditto.store.registerObserver<T>(
        query,
        ({ items }) => {
          if (!isMounted) return;
          setObserved({ items, isLoading: false, error: null, storeObserver, syncSubscription });
        },
        args,
      );
      if (!localOnly) syncSubscription = ditto.sync.registerSubscription(query, args);
    } catch (error) {
      storeObserver?.cancel();
      setObserved({ ...NONE, isLoading: false, error });
      latest.current.onError?.(error);
    }
    return () => {
      isMounted = false;
      storeObserver?.cancel();
      syncSubscription?.cancel();
    };
  }, [ditto, query, key, localOnly, round]);
  const reset = useCallback(async () => setRound((last) => last + 1), []);
  return { ditto, ...observed, reset };
}

/** A text that is the same for equal arguments. */
function keyOf(args: DQLQueryArguments | undefined | null): string {
  return JSON.stringify(args, (_name, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
}
