/**
 * FunctionSpec: definition of a function of the query language: name, arity, null handling,
 * argument checks, implementation. table.ts lists all of them.
 */

import type { Run } from "../frame/frame.ts";
import { type Datum, type Failure, MISSING, type Outcome } from "../value/datum.ts";

/** Arity without an upper bound. */
export const ANY_NUMBER: number = Infinity;

export interface FunctionSpec {
  /** Name in lower case. */
  readonly name: string;
  /** Minimum and maximum number of arguments. */
  readonly arity: readonly [min: number, max: number];
  /**
   * `pass`: a MISSING argument makes the result MISSING, else a null one makes it null, and `apply`
   * sees neither. `see`: `apply` gets them. A Failure never reaches `apply`.
   */
  readonly nulls: "pass" | "see";
  /** Only with `pass`: checks that run before that rule, in this order. */
  readonly checks?: readonly Check[];
  /** Never throws because of its arguments: it returns a Failure. */
  readonly apply: (args: readonly Datum[], run: Run) => Outcome;
}

/** Check of the argument at a position, for arguments that are neither null nor MISSING. */
export interface Check {
  readonly at: number;
  readonly wrong: (datum: Datum) => Failure | undefined;
}

export type Wrong = Check["wrong"];

/** Checks arguments from the left; the last check also holds for all further arguments. */
export function inTurn(...wrongs: readonly Wrong[]): readonly Check[] {
  const last = wrongs.at(-1);
  const checks = wrongs.map((wrong, at) => ({ at, wrong }));
  return last === undefined ? checks : [...checks, { at: REST, wrong: last }];
}

/** Position that stands for all arguments after the last one with its own check. */
const REST = -1;

/** Result of a call with a null or MISSING argument: the first failed check or null decides. */
export function withoutValue(args: readonly Datum[], checks: readonly Check[] = []): Outcome {
  for (const { at, wrong } of checks) {
    const judged = at === REST ? args.slice(checks.length - 1) : args.slice(at, at + 1);
    for (const arg of judged) {
      if (arg === null || arg === MISSING) return arg;
      const failure = wrong(arg);
      if (failure !== undefined) return failure;
    }
  }
  return args.includes(MISSING) ? MISSING : null;
}
