/**
 * Aggregate functions: COUNT, SUM, AVG, MIN, MAX, MEDIAN, MID and ARRAY_AGG over the rows of a
 * group.
 *
 * Aggregates skip nulls, MISSING and failures. Those that compute skip all but numbers, and COUNT
 * skips false too. With nothing left the result is MISSING, or 0 for a count. MIN and MAX follow
 * the order of ORDER BY and do not skip null, the greatest value that a document can hold.
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

/** State of one aggregate over one group. */
export interface Accumulator {
  add(datum: Datum): void;
  /** Work before the result, in steps: a group may be large. */
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

/** Approximate bytes of one value that an aggregate keeps. */
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

/** AVG: a whole average is an integer, also of floats. Integers never overflow. */
class Average implements Accumulator {
  #integers = 0n;
  /** Sum of the latest integers: JS numbers are faster than bigints while they are exact. */
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

  /** Charges the growth of the largest value ever kept. */
  #charge(bytes: number): void {
    if (bytes <= this.#bytes) return;
    this.#run.budget.take(bytes - this.#bytes);
    this.#bytes = bytes;
  }
}

class Median implements Accumulator {
  readonly #values: (number | bigint | Float)[] = [];
  readonly #run: Run;
  /** Indexes of the values in sorted order. */
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

/** MID: (MIN + MAX) / 2 of the numbers. */
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

/** ARRAY_AGG: all values in an array, in the order of the rows. */
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
