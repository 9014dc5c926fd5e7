/**
 * Loaded data of a component: the last value stays while the next one is on its way, and an answer
 * that is no longer needed is aborted.
 */
import { ApiError, isSessionLost } from "../api/request.ts";
import { useCallback, useEffect, useRef, useState } from "./preact.ts";
import { usePoll } from "./visible.ts";

export interface Loaded<T> {
  /** Undefined before the first answer. After a failure it is the last one. */
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Loads again. Resolves when the answer is there. */
  readonly reload: () => Promise<void>;
}

interface State<T> {
  readonly key: string;
  readonly value: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
}

export interface LoadOptions {
  /** Repeats while the page is visible. */
  readonly pollMs?: number;
  /** Whether the value of the last key is shown until that of the new one is there. */
  readonly isKept?: boolean;
}

/** `load` is called at first, and again when `key` changes. */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { pollMs, isKept = false }: LoadOptions = {},
): Loaded<T> {
  const [state, setState] = useState<State<T>>(() => emptyState(key));
  const running = useRef<AbortController | undefined>(undefined);
  const latest = useRef(load);
  latest.current = load;

  const reload = useCallback(async (): Promise<void> => {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setState((last) => ({ ...carriedOver(last, key, isKept), isLoading: true }));
    try {
      const value = await latest.current(controller.signal);
      if (!controller.signal.aborted) setState({ key, value, error: undefined, isLoading: false });
    } catch (error) {
      if (controller.signal.aborted) return;
      const failure = ApiError.from(error);
      setState((last) => ({ ...last, error: failure, isLoading: false }));
    }
  }, [key]);

  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => {
    if (pollMs === undefined) void reload();
  }, [reload, pollMs === undefined]);
  useReloadWithSession(state.error !== undefined, reload);
  usePoll(pollMs === undefined ? nothing : reload, pollMs ?? NEVER_MS, key);
  return { ...carriedOver(state, key, isKept), reload };
}

/** What failed is loaded again after the person has signed in again. */
function useReloadWithSession(hasFailed: boolean, reload: () => Promise<void>): void {
  const isLost = isSessionLost.value;
  const wasLost = useRef(false);
  useEffect(() => {
    if (wasLost.current && !isLost && hasFailed) void reload();
    wasLost.current = isLost;
  }, [isLost]);
}

const NEVER_MS = 2 ** 31 - 1;

async function nothing(): Promise<void> {}

/** What is left of the state of another key. */
function carriedOver<T>(last: State<T>, key: string, isKept: boolean): State<T> {
  if (last.key === key) return last;
  return isKept ? { ...last, key, error: undefined, isLoading: true } : emptyState(key);
}

function emptyState<T>(key: string): State<T> {
  return { key, value: undefined, error: undefined, isLoading: true };
}
