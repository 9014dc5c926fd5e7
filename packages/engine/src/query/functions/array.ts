/**
 * Array functions: search, sort, combine and change arrays. They return new arrays and never change
 * one. Elements compare as in GROUP BY: 1 equals 1.0, null equals null.
 */

import { COMPUTED_SIZE_MAX } from "../../limits.ts";
import type { Run } from "../frame/frame.ts";
import {
  COMPARISON_STEPS,
  compareData,
  dataKey,
  equalData,
  firstOfEquals,
  KEY_STEPS,
} from "../value/compare.ts";
import { PORTION, spend, spendEach } from "../value/cost-meter.ts";
import {
  type Datum,
  Failure,
  isDatumArray,
  MISSING,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { mismatch } from "../value/mismatch.ts";
import { ARRAY_TOO_LONG } from "../value/size-bound.ts";
import { notArray, notCount, readCount, readInteger } from "./argument.ts";
import { ANY_NUMBER, type FunctionSpec, inTurn } from "./function.ts";
import { chargeArray, chargeGrowth, countWork, ELEMENT_BYTES } from "./growth.ts";

type DatumArray = readonly PresentDatum[];

export const ARRAY_FUNCTIONS: readonly FunctionSpec[] = [
  onArray("array_length", (array) => array.length),
  onArray("array_contains_null", (array) => array.includes(null)),
  onArray("array_reverse", reverse),
  onArray("array_sort", sort),
  onArrays("array_concat", [2, ANY_NUMBER], joined),
  onArrays("array_union", [2, ANY_NUMBER], (arrays) => distinct(joined(arrays))),
  onArrays("array_intersect", [2, ANY_NUMBER], intersect),
  onBothArrays("array_except", except),
  onBothArrays("array_zip", zip),
  onElement("array_contains", (array, element) => positionOf(array, element) >= 0),
  onElement("array_position", positionOf),
  {
    name: "array_flatten",
    arity: [2, 2],
    nulls: "pass",
    checks: [{ at: 1, wrong: notCount }],
    apply: flatten,
  },
  { name: "array_append", arity: [2, ANY_NUMBER], nulls: "see", apply: append },
  { name: "array_insert", arity: [3, ANY_NUMBER], nulls: "see", apply: insert },
  { name: "array_remove", arity: [2, ANY_NUMBER], nulls: "see", apply: remove },
  { name: "array_replace", arity: [3, 4], nulls: "see", apply: replace },
];

function onArray(name: string, apply: (array: DatumArray, run: Run) => Outcome): FunctionSpec {
  return {
    name,
    arity: [1, 1],
    nulls: "pass",
    apply: ([array], run) =>
      isDatumArray(array) ? apply(array, run) : mismatch("an array", array),
  };
}

type ApplyToArrays = (arrays: readonly DatumArray[]) => Outcome;

/** A function of two arrays. MISSING takes precedence over null, and null over a wrong type. */
function onBothArrays(name: string, apply: ApplyToArrays): FunctionSpec {
  const { checks: _, ...spec } = onArrays(name, [2, 2], apply);
  return spec;
}

/**
 * A function of arrays only, whose result is no longer than all of them together. The first
 * argument that is not an array determines the result.
 */
function onArrays(name: string, arity: FunctionSpec["arity"], apply: ApplyToArrays): FunctionSpec {
  return {
    name,
    arity,
    nulls: "pass",
    checks: inTurn(notArray),
    apply: (args, run) => {
      let length = 0;
      for (const arg of args) {
        if (!isDatumArray(arg)) return mismatch("an array", arg);
        length += arg.length;
      }
      if (length > COMPUTED_SIZE_MAX) return ARRAY_TOO_LONG;
      chargeArray(run, length);
      return apply(args as readonly DatumArray[]);
    },
  };
}

/** A function that searches for an element. If the element is null, the result is null. */
function onElement(
  name: string,
  apply: (array: DatumArray, element: Datum) => Outcome,
): FunctionSpec {
  return {
    name,
    arity: [2, 2],
    nulls: "pass",
    apply: ([array, element], run) => {
      if (!isDatumArray(array)) return mismatch("an array", array);
      countWork(run, array.length);
      return apply(array, element);
    },
  };
}

/** Reads the array argument, or returns the result of the call if there is none. */
function readArray(array: Datum): DatumArray | null | undefined | Failure {
  if (array === null || array === MISSING || isDatumArray(array)) return array;
  return mismatch("an array", array);
}

/** array_append(array, x, …): null can be appended. */
function append([given, ...added]: readonly Datum[], run: Run): Outcome {
  const array = readArray(given);
  if (!isDatumArray(array)) return array;
  if (added.includes(MISSING)) return MISSING;
  chargeArray(run, array.length + added.length);
  return [...array, ...(added as DatumArray)];
}

function reverse(array: DatumArray, run: Run): Outcome {
  chargeArray(run, array.length);
  return array.toReversed();
}

function sort(array: DatumArray, run: Run): Outcome {
  chargeArray(run, 2 * array.length);
  return array.toSorted((a, b) => {
    run.budget.step(COMPARISON_STEPS);
    return compareData(a, b);
  });
}

function positionOf(array: DatumArray, element: Datum): number {
  return array.findIndex((candidate) => equalData(candidate, element));
}

/** Concatenates arrays, a portion at a time: there may be millions of elements. */
function joined(arrays: readonly DatumArray[]): PresentDatum[] {
  const all: PresentDatum[] = [];
  for (const array of arrays) {
    for (let i = 0; i < array.length; i++) {
      if (i % PORTION === 0) spendEach(PORTION);
      all.push(array[i] as PresentDatum);
    }
  }
  return all;
}

/** Keeps the first of equal elements. */
function distinct(array: DatumArray): DatumArray {
  return array.filter(firstOfEquals());
}

function intersect([first = [], ...others]: readonly DatumArray[]): Outcome {
  const sets = others.map(keySet);
  return distinct(first).filter((element) => {
    spend(KEY_STEPS);
    const key = dataKey(element);
    return sets.every((set) => set.has(key));
  });
}

function except([first = [], second = []]: readonly DatumArray[]): Outcome {
  return without(distinct(first), second);
}

/** The elements that are not in `unwanted`. */
function without(array: DatumArray, unwanted: DatumArray): DatumArray {
  const keys = keySet(unwanted);
  return array.filter((element) => {
    spend(KEY_STEPS);
    return !keys.has(dataKey(element));
  });
}

function keySet(array: DatumArray): Set<string> {
  const keys = new Set<string>();
  for (const element of array) {
    spend(KEY_STEPS);
    keys.add(dataKey(element));
  }
  return keys;
}

/** Alternates elements of both arrays; the rest of the longer one comes last. */
function zip([first = [], second = []]: readonly DatumArray[]): Outcome {
  const zipped: PresentDatum[] = [];
  for (let i = 0; i < Math.max(first.length, second.length); i++) {
    if (i % PORTION === 0) spendEach(2 * PORTION);
    if (i < first.length) zipped.push(first[i] as PresentDatum);
    if (i < second.length) zipped.push(second[i] as PresentDatum);
  }
  return zipped;
}

function flatten([array, levels]: readonly Datum[], run: Run): Outcome {
  if (!isDatumArray(array)) return mismatch("an array", array);
  const depth = readCount(levels);
  if (depth instanceof Failure) return depth;
  const flat = new FlatArray(run);
  return flat.add(array, depth) ? flat.elements : ARRAY_TOO_LONG;
}

/** Flattened array. Nested arrays may be shared, so the result can outgrow the input. */
class FlatArray {
  readonly elements: PresentDatum[] = [];
  readonly #run: Run;
  #counted = 0;

  constructor(run: Run) {
    this.#run = run;
  }

  /** Adds the elements; false if the result is too long. */
  add(array: DatumArray, depth: number): boolean {
    this.#run.budget.step();
    for (const element of array) {
      if (depth > 0 && isDatumArray(element)) {
        if (!this.add(element, depth - 1)) return false;
      } else this.elements.push(element);
      if (this.elements.length - this.#counted >= PORTION) this.#count();
      if (this.elements.length > COMPUTED_SIZE_MAX) return false;
    }
    return true;
  }

  #count(): void {
    const grown = this.elements.length - this.#counted;
    this.#counted += grown;
    chargeGrowth(this.#run, grown * ELEMENT_BYTES);
    countWork(this.#run, grown);
  }
}

/**
 * array_insert(array, place, x, …): checks the place before the array. A negative place counts from
 * the end; a place outside the array means its nearer end.
 */
function insert([given, place, ...added]: readonly Datum[], run: Run): Outcome {
  if (place === null || place === MISSING) return place;
  const index = readInteger(place);
  if (index instanceof Failure) return index;
  const array = readArray(given);
  if (!isDatumArray(array)) return array;
  if (added.includes(MISSING)) return MISSING;
  chargeArray(run, array.length + added.length);
  return [...array.slice(0, index), ...(added as DatumArray), ...array.slice(index)];
}

function remove(args: readonly Datum[], run: Run): Outcome {
  const [given, ...unwanted] = args;
  if (args.includes(MISSING)) return MISSING;
  const array = readArray(given);
  if (!isDatumArray(array)) return array;
  chargeArray(run, array.length + unwanted.length);
  return without(array, unwanted as DatumArray);
}

/** array_replace(array, from, to, howOften): checks `howOften` first. */
function replace(args: readonly Datum[], run: Run): Outcome {
  const [given, from, to, times] = args;
  const hasTimes = args.length > 3;
  if (hasTimes && (times === null || times === MISSING)) return times;
  const most = hasTimes ? readCount(times) : Infinity;
  if (most instanceof Failure) return most;
  if (args.includes(MISSING)) return MISSING;
  const array = readArray(given);
  if (!isDatumArray(array)) return array;
  chargeArray(run, array.length);
  let left = most;
  return array.map((element) => {
    if (!equalData(element, from) || left === 0) return element;
    left--;
    return to as PresentDatum;
  });
}
