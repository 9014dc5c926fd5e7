/**
 * What a function of the language is: a row of the table in table.ts.
 */

import type { Run } from "../frame/frame.ts";
import type { Datum, Outcome } from "../value/datum.ts";

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
  /** Never throws for its arguments: what is wrong with them is a Failure. */
  readonly apply: (args: readonly Datum[], run: Run) => Outcome;
}
