/**
 * Aggregates: what a group of rows comes to.
 *
 * Nulls, MISSING and failures are skipped, and what is no number by those that add up; COUNT skips
 * false too. Where nothing remains the result is MISSING; a count is 0. MIN and MAX go by the order of ORDER BY and skip
 * MISSING alone: null is the greatest value that a document can hold.
 */

import { assert, normalInteger, normalNumber } from "@bigpeer/protocol";
import type { Run } from "../frame/frame.ts";
import { mergeSorted } from "../frame/merge-sort.ts";
import { finish, type Steps } from "../frame/steps.ts";
import { add } from "../value/arithmetic.ts";
import { compareData, firstOfEquals } from "../value/compare.ts";
import {
  approximate,
  type Datum,
  type Float,
  isInteger,
  isNumeric,
  MISSING,
  type Outcome,
  type PresentDatum,
} from "../value/datum.ts";
import { memorySize } from "../value/memory-size.ts";

/** One aggregate over one group. */
export interface Accumulator {
  add(datum: Datum): void;
  /** Work that is left before there is a result, with pauses: a group may be large. */
  settle?(): Steps<void>;
  result(): Outcome;
}

const AGGREGATES: ReadonlyMap<string, (run: Run) => Accumulator> = new Map<
  string,
  (run: Run) => Accumulator
>([
  ["count", () => new Count()],
  ["sum", () => new Sum()],
  ["avg", () => new Average()],
  ["min", (run) => new Extreme(-1, run)],
  ["max", (run) => new Extreme(1, run)],
  ["median", (run) => new Median(run)],
  ["mid", (run) => new Middle(run)],
  ["array_agg", (run) => new Collected(run)],
]);

export function isAggregate(name: string): boolean {
  return AGGREGATES.has(name);
}

export const AGGREGATE_NAMES: readonly string[] = [...AGGREGATES.keys()];

export function startAggregate(name: string, isDistinct: boolean, run: Run): Accumulator {
  const start = AGGREGATES.get(name);
  assert(start !== undefined, "the name of an aggregate");
  return isDistinct ? new Distinct(start(run), run) : start(run);
}

/** Rough bytes of one value that an aggregate keeps. */
const KEPT_BYTES = 64;

class Distinct implements Accumulator {
  readonly #inner: Accumulator;
  readonly #isFirst: (datum: Datum) => boolean;

  constructor(inner: Accumulator, run: Run) {
    this.#inner = inner;
    this.#isFirst = firstOfEquals((bytes) => run.budget.take(KEPT_BYTES + bytes));
  }

  add(datum: Datum): void {
    if (this.#isFirst(datum)) this.#inner.add(datum);
  }

  *settle(): Steps<void> {
    if (this.#inner.settle !== undefined) yield* this.#inner.settle();
  }

  result(): Outcome {
    return this.#inner.result();
  }
}

class Count implements Accumulator {
  #count = 0;

  add(datum: Datum): void {
    if (datum !== MISSING && datum !== null && datum !== false) this.#count++;
  }

  result(): Outcome {
    return this.#count;
  }
}

class Sum implements Accumulator {
  #sum: Outcome = MISSING;

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#sum = this.#sum === MISSING ? datum : add(this.#sum, datum);
  }

  result(): Outcome {
    return this.#sum;
  }
}

/** A whole average is an integer, whatever it was made of. It never overflows on the way. */
class Average implements Accumulator {
  #integers = 0n;
  /** Those that were not added yet: sums of JS numbers are quicker, as long as they are exact. */
  #recent = 0;
  #floats = 0;
  #count = 0;

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    if (isInteger(datum)) this.#addInteger(datum);
    else this.#floats += approximate(datum);
    this.#count++;
  }

  #addInteger(integer: number | bigint): void {
    const sum = typeof integer === "number" ? this.#recent + integer : Number.NaN;
    if (Number.isSafeInteger(sum)) {
      this.#recent = sum;
      return;
    }
    this.#integers += BigInt(this.#recent) + BigInt(integer);
    this.#recent = 0;
  }

  result(): Outcome {
    if (this.#count === 0) return MISSING;
    const integers = this.#integers + BigInt(this.#recent);
    return normalNumber((Number(integers) + this.#floats) / this.#count);
  }
}

class Extreme implements Accumulator {
  readonly #direction: 1 | -1;
  readonly #run: Run;
  #best: Datum = MISSING;
  #bytes = 0;

  constructor(direction: 1 | -1, run: Run) {
    this.#direction = direction;
    this.#run = run;
  }

  add(datum: Datum): void {
    if (datum === MISSING) return;
    if (this.#best === MISSING || compareData(datum, this.#best) * this.#direction > 0) {
      this.#best = datum;
      this.#charge(memorySize(datum));
    }
  }

  result(): Outcome {
    return this.#best;
  }

  /** Counts by how much the largest that was ever kept has grown. */
  #charge(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#run.budget.take(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

class Median implements Accumulator {
  readonly #values: (number | bigint | Float)[] = [];
  readonly #run: Run;
  /** The places of the values in their order. */
  #order: Uint32Array = new Uint32Array();

  constructor(run: Run) {
    this.#run = run;
  }

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#run.budget.take(KEPT_BYTES);
    this.#values.push(datum);
  }

  *settle(): Steps<void> {
    const values = this.#values;
    const comesBefore = (a: number, b: number): boolean => compareData(values[a], values[b]) < 0;
    const places = Uint32Array.from(values.keys());
    this.#order = yield* mergeSorted(places, comesBefore, this.#run.budget);
  }

  result(): Outcome {
    if (this.#order.length !== this.#values.length) finish(this.settle());
    const middle = this.#order.length >> 1;
    const upper = this.#at(middle);
    return this.#order.length % 2 === 1 ? upper : halfway(this.#at(middle - 1), upper);
  }

  #at(place: number): Datum {
    const at = this.#order[place];
    return at === undefined ? MISSING : this.#values[at];
  }
}

/** (MIN + MAX) / 2 of the numbers. */
class Middle implements Accumulator {
  readonly #least: Extreme;
  readonly #greatest: Extreme;

  constructor(run: Run) {
    this.#least = new Extreme(-1, run);
    this.#greatest = new Extreme(1, run);
  }

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#least.add(datum);
    this.#greatest.add(datum);
  }

  result(): Outcome {
    return halfway(this.#least.result(), this.#greatest.result());
  }
}

/** All of them in an array, in the order of the rows. */
class Collected implements Accumulator {
  readonly #values: PresentDatum[] = [];
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  add(datum: Datum): void {
    if (datum === MISSING || datum === null) return;
    this.#run.budget.take(KEPT_BYTES + memorySize(datum));
    this.#values.push(datum);
  }

  result(): Outcome {
    return this.#values.length === 0 ? MISSING : this.#values;
  }
}

function halfway(a: Outcome, b: Outcome): Outcome {
  if (!isNumeric(a) || !isNumeric(b)) return MISSING;
  if (!isInteger(a) || !isInteger(b)) return normalNumber((approximate(a) + approximate(b)) / 2);
  const sum = BigInt(a) + BigInt(b);
  return sum % 2n === 0n ? normalInteger(sum / 2n) : Number(sum) / 2;
}
