/**
 * useMutation: a statement that writes, and what became of its last run.
 */

import type { Arguments, QueryResult } from "../local-store.ts";
import type { PlainObject } from "../plain-value.ts";
import { useProvided } from "./peer-context.ts";
import { useCallback, useState } from "./react.ts";

/** A statement that writes, and the state of its last run. */
export interface MutationState<T = PlainObject, Args extends Arguments = Arguments> {
  /**
   * Runs the statement; it waits while the peer is being opened. It rejects if the statement fails.
   * The error is in `error` as well, so a caller that does not need the result need not wait. It
   * stays the same function as long as the statement is the same.
   */
  readonly execute: (args?: Args) => Promise<QueryResult<T>>;
  /** The result of the last run; undefined before its end, or if it failed. */
  readonly result: QueryResult<T> | undefined;
  /** The error of the last run. */
  readonly error: Error | undefined;
  /** Whether the last run goes on. */
  readonly isLoading: boolean;
  /** Forgets the last run. */
  readonly reset: () => void;
}

interface Run<T> extends Pick<MutationState<T>, "result" | "error"> {
  /** Undefined when it has ended. */
  readonly running: Promise<unknown> | undefined;
}

const NONE: Run<never> = { running: undefined, result: undefined, error: undefined };

/**
 * Gives a component a statement to run, such as INSERT, UPDATE or DELETE. The write takes effect on
 * this device at once, and in queries; the server gets it as soon as there is a connection.
 *
 * @param statement - A statement of the query language.
 */
export function useMutation<T = PlainObject, Args extends Arguments = Arguments>(
  statement: string,
): MutationState<T, Args> {
  const { source } = useProvided();
  const [run, setRun] = useState<Run<T>>(NONE);
  const execute = useCallback(
    (args?: Args) => {
      const running = source.peer().then(({ store }) => store.execute<T>(statement, args));
      setRun({ ...NONE, running });
      const end = (outcome: Partial<Run<T>>): void =>
        setRun((last) => (last.running === running ? { ...NONE, ...outcome } : last));
      running.then(
        (result) => end({ result }),
        (error: unknown) => end({ error: error as Error }),
      );
      return running;
    },
    [source, statement],
  );
  const reset = useCallback(() => setRun(NONE), []);
  const { running, result, error } = run;
  return { execute, result, error, isLoading: running !== undefined, reset };
}
