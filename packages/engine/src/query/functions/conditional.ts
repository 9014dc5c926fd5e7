/**
 * Conditional functions: IFNULL, COALESCE, NVL, NULLIF, DECODE and others, which return one of
 * their arguments. All arguments are evaluated: a failure in any of them is the result.
 */

import { equalData } from "../value/compare.ts";
import { type Datum, MISSING } from "../value/datum.ts";
import { ANY_NUMBER, type FunctionSpec } from "./function.ts";

export const CONDITIONAL_FUNCTIONS: readonly FunctionSpec[] = [
  choice("ifnull", (datum) => datum !== null),
  choice("ifmissing", (datum) => datum !== MISSING),
  choice("ifmissingornull", isGiven),
  choice("coalesce", isGiven),
  { name: "nvl", arity: [2, 3], nulls: "see", apply: nvl },
  {
    name: "nullif",
    arity: [2, 2],
    nulls: "see",
    apply: ([a, b]) => (isUnlike(a, b) ? a : null),
  },
  {
    name: "missingif",
    arity: [2, 2],
    nulls: "see",
    apply: ([a, b]) => (isUnlike(a, b) ? a : MISSING),
  },
  { name: "decode", arity: [3, ANY_NUMBER], nulls: "see", apply: decode },
];

/** A function that returns the first argument with a property, or null. */
function choice(name: string, willDo: (datum: Datum) => boolean): FunctionSpec {
  return {
    name,
    arity: [1, ANY_NUMBER],
    nulls: "see",
    apply: (args) => {
      for (const arg of args) if (willDo(arg)) return arg;
      return null;
    },
  };
}

function isGiven(datum: Datum): boolean {
  return datum !== null && datum !== MISSING;
}

/** nvl(x, otherwise), or nvl(x, then, otherwise). */
function nvl(args: readonly Datum[]): Datum {
  const [datum, second, third] = args;
  if (args.length === 2) return isGiven(datum) ? datum : second;
  return isGiven(datum) ? second : third;
}

/** Whether both are neither null nor MISSING, and differ. */
function isUnlike(a: Datum, b: Datum): boolean {
  return isGiven(a) && isGiven(b) && !equalData(a, b);
}

/** decode(x, a, r, b, s, …, otherwise): r if x is a, s if x is b. Null equals null. */
function decode(args: readonly Datum[]): Datum {
  const [datum] = args;
  if (datum === MISSING) return MISSING;
  for (let i = 1; i + 1 < args.length; i += 2) {
    if (equalData(datum, args[i])) return args[i + 1] ?? null;
  }
  return args.length % 2 === 0 ? (args.at(-1) ?? null) : null;
}
