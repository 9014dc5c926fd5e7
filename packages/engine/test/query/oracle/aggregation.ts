/**
 * The slow obvious evaluator: aggregates over all the values of a group at once.
 */
import { compareValues, equalValues } from "@bigpeer/protocol";
import {
  approximate,
  type Datum,
  isInteger,
  isNumeric,
  type Outcome,
  type PresentDatum,
  toFloat,
  toValue,
} from "../../../src/query/value/datum.ts";
import { inRange } from "./arithmetic.ts";

export const AGGREGATES: ReadonlySet<string> = new Set([
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "median",
  "array_agg",
]);

/** `values` are those of the argument, one for each row. */
export function aggregate(name: string, values: readonly Datum[], isDistinct: boolean): Outcome {
  const present = values.filter((value) => value !== undefined);
  const counted = isDistinct ? withoutDuplicates(present) : present;
  const numbers = counted.filter(isNumeric);
  switch (name) {
    case "count":
      return counted.filter((value) => value !== null && value !== false).length;
    case "sum":
      return numbers.length === 0 ? undefined : sum(numbers);
    case "avg":
      return numbers.length === 0 ? undefined : toFloat(total(numbers) / numbers.length);
    case "median":
      return median(numbers);
    case "array_agg": {
      const kept = counted.filter((value) => value !== null);
      return kept.length === 0 ? undefined : kept;
    }
    case "min":
      return counted.toSorted(byValue)[0];
    case "max":
      return counted.toSorted(byValue).at(-1);
    default:
      throw new Error(`expected an aggregate, found ${name}`);
  }
}

export function withoutDuplicates(values: readonly PresentDatum[]): PresentDatum[] {
  const kept: PresentDatum[] = [];
  for (const value of values) {
    if (!kept.some((other) => equalValues(toValue(other), toValue(value)))) kept.push(value);
  }
  return kept;
}

type NumericDatum = Extract<PresentDatum, number | bigint> | Parameters<typeof approximate>[0];

function sum(numbers: readonly NumericDatum[]): Outcome {
  if (!numbers.every(isInteger)) return toFloat(total(numbers));
  return inRange(numbers.reduce((before: bigint, number) => before + BigInt(number as number), 0n));
}

function total(numbers: readonly NumericDatum[]): number {
  return numbers.reduce((before: number, number) => before + approximate(number), 0);
}

function median(numbers: readonly NumericDatum[]): Outcome {
  const sorted = numbers.toSorted(byValue);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (low === undefined || high === undefined) return undefined;
  return low === high ? low : toFloat((approximate(low) + approximate(high)) / 2);
}

function byValue(a: PresentDatum, b: PresentDatum): number {
  return compareValues(toValue(a), toValue(b));
}
