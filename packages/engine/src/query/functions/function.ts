/**
 * What a function of the language is: a row of the table in table.ts.
 */

import type { Run } from "../frame/frame.ts";
import { type Datum, type Failure, MISSING, type Outcome } from "../value/datum.ts";

/** As many arguments as one likes. */
export const ANY_NUMBER: number = Infinity;

export interface FunctionSpec {
  /** In lower case. */
  readonly name: string;
  /** Fewest and most arguments. */
  readonly arity: readonly [min: number, max: number];
  /**
   * `pass`: a MISSING argument makes the result MISSING, else a null one makes it null, and `apply`
   * sees neither. `see`: `apply` gets them. A Failure never reaches `apply`.
   */
  readonly nulls: "pass" | "see";
  /** Only with `pass`: arguments that are judged before that rule, each by its check, in turn. */
  readonly checks?: readonly Check[];
  /** Never throws for its arguments: what is wrong with them is a Failure. */
  readonly apply: (args: readonly Datum[], run: Run) => Outcome;
}

/** The argument at a position, and what is wrong with it when it is neither null nor MISSING. */
export interface Check {
  readonly at: number;
  readonly wrong: (datum: Datum) => Failure | undefined;
}

export type Wrong = Check["wrong"];

/** Checks for arguments from the left; the last one holds for all that follow, as many as there may be. */
export function inTurn(...wrongs: readonly Wrong[]): readonly Check[] {
  const last = wrongs.at(-1);
  const checks = wrongs.map((wrong, at) => ({ at, wrong }));
  return last === undefined ? checks : [...checks, { at: REST, wrong: last }];
}

/** Stands for every argument behind the last one that has a check of its own. */
const REST = -1;

/** What arguments come to of which one is null or MISSING: the first bad one decides, as far as there are checks. */
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
