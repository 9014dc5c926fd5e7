/**
 * Something that a button does at the server: whether it is under way, and why it failed.
 */
import { ApiError } from "../api/request.ts";
import { useRef, useState } from "./preact.ts";

export interface Action {
  readonly isRunning: boolean;
  /** Of the last run. */
  readonly error: ApiError | undefined;
  /** Runs one thing at a time; a second call meanwhile does nothing. Resolves with whether it succeeded. */
  readonly run: (work: () => Promise<void>) => Promise<boolean>;
}

export function useAction(): Action {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError>();
  const isBusy = useRef(false);
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setRunning(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (failure) {
      setError(ApiError.from(failure));
      return false;
    } finally {
      isBusy.current = false;
      setRunning(false);
    }
  };
  return { isRunning, error, run };
}
