/**
 * Aggregates: what a group of rows comes to.
 *
 * Nulls, MISSING and failures are skipped, and what is no number by those that add up. Where nothing
 * remains the result is MISSING; a count is 0. MIN and MAX go by the order of ORDER BY and skip
 * MISSING alone: null is the greatest value that a document can hold.
 */

import { nearest, normalNumber } from "@bigpeer/protocol";
import { add, divide } from "../value/arithmetic.ts";
import { compareData, dataKey } from "../value/compare.ts";
import {
  approximate,
  type Datum,
  Failure,
  type Float,
  isNumeric,
  MISSING,
  type Outcome,
} from "../value/datum.ts";
import type { Run } from "./run.ts";

/** One aggregate over one group. */
export interface Accumulator {
  add(datum: Datum): void;
  result(): Outcome;
}

const AGGREGATES: ReadonlyMap<string, (run: Run) => Accumulator> = new Map<
  string,
  (run: Run) => Accumulator
>([
  ["count", () => new Count()],
  ["sum", () => new Sum()],
  ["avg", () => new Average()],
  ["min", () => new Extreme(-1)],
  ["max", () => new Extreme(1)],
  ["median", (run) => new Median(run)],
  ["mid", () => new Middle()],
]);

export function isAggregate(name: string): boolean {
  return AGGREGATES.has(name);
}

export function suggestAggregate(name: string): string | undefined {
  return nearest(name, [...AGGREGATES.keys()]);
}

export function startAggregate(name: string, isDistinct: boolean, run: Run): Accumulator {
  const start = AGGREGATES.get(name);
  if (start === undefined) throw new Error(`assertion failed: expected an aggregate, not ${name}`);
  return isDistinct ? new Distinct(start(run), run) : start(run);
}

/** Rough bytes of one value that an aggregate keeps. */
const KEPT_BYTES = 64;

class Distinct implements Accumulator {
  readonly #seen = new Set<string>();
  readonly #inner: Accumulator;
  readonly #run: Run;

  constructor(inner: Accumulator, run: Run) {
    this.#inner = inner;
    this.#run = run;
  }

  add(datum: Datum): void {
    const key = dataKey(datum);
    if (this.#seen.has(key)) return;
    this.#run.budget.take(KEPT_BYTES + 2 * key.length);
    this.#seen.add(key);
    this.#inner.add(datum);
  }

  result(): Outcome {
    return this.#inner.result();
  }
}

class Count implements Accumulator {
  #count = 0;

  add(datum: Datum): void {
    if (datum !== MISSING && datum !== null) this.#count++;
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

/** A whole average is an integer, whatever it was made of. */
class Average implements Accumulator {
  readonly #sum = new Sum();
  #count = 0;

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#sum.add(datum);
    this.#count++;
  }

  result(): Outcome {
    const sum = this.#sum.result();
    return isNumeric(sum) ? normalNumber(approximate(sum) / this.#count) : sum;
  }
}

class Extreme implements Accumulator {
  readonly #direction: 1 | -1;
  #best: Datum = MISSING;

  constructor(direction: 1 | -1) {
    this.#direction = direction;
  }

  add(datum: Datum): void {
    if (datum === MISSING) return;
    if (this.#best === MISSING || compareData(datum, this.#best) * this.#direction > 0) {
      this.#best = datum;
    }
  }

  result(): Outcome {
    return this.#best;
  }
}

class Median implements Accumulator {
  readonly #values: (number | bigint | Float)[] = [];
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#run.budget.take(KEPT_BYTES);
    this.#values.push(datum);
  }

  result(): Outcome {
    const sorted = this.#values.toSorted((a, b) => {
      this.#run.budget.step();
      return compareData(a, b);
    });
    const middle = sorted.length >> 1;
    return sorted.length % 2 === 1 ? sorted[middle] : halfway(sorted[middle - 1], sorted[middle]);
  }
}

/** (MIN + MAX) / 2 of the numbers. */
class Middle implements Accumulator {
  readonly #least = new Extreme(-1);
  readonly #greatest = new Extreme(1);

  add(datum: Datum): void {
    if (!isNumeric(datum)) return;
    this.#least.add(datum);
    this.#greatest.add(datum);
  }

  result(): Outcome {
    return halfway(this.#least.result(), this.#greatest.result());
  }
}

function halfway(a: Outcome, b: Outcome): Outcome {
  if (!isNumeric(a) || !isNumeric(b)) return a instanceof Failure ? a : MISSING;
  const sum = add(a, b);
  return isNumeric(sum) ? normalNumber(approximate(sum) / 2) : divide(sum, 2);
}
