/**
 * Cost meter: charges work on large values to the statement that is running.
 *
 * Comparing, measuring or copying a value takes time in proportion to its size. Because parts may
 * be shared, a computed value can be far larger than its memory. Too many places do such work to
 * pass the budget to all of them. A statement runs without interruption between two pauses, so its
 * runner installs the meter for that time.
 */

export interface CostMeter {
  step(steps: number): void;
  borrow(bytes: number): void;
}

let meter: CostMeter | undefined;

/** Runs `work` and charges its costs to `current`. */
export function underMeter<T>(current: CostMeter, work: () => T): T {
  const before = meter;
  meter = current;
  try {
    return work();
  } finally {
    meter = before;
  }
}

/** Charges the parts of a value that are visited. */
export function spend(parts: number): void {
  meter?.step(parts);
}

/** Charges the bytes of a copy. */
export function grow(bytes: number): void {
  meter?.borrow(bytes);
}

/** Characters or bytes per part, where a built-in function reads them. */
const LENGTH_PER_PART = 256;

/** Characters per part, where each is visited on its own. */
const CHARACTERS_PER_PART = 64;

/** Charges text or binary that a built-in function reads; short ones are free. */
export function spendLength(length: number): void {
  if (length > LENGTH_PER_PART) spend(length / LENGTH_PER_PART);
}

/** Charges text or a list whose characters or elements are visited one by one. */
export function spendEach(count: number): void {
  spend(count / CHARACTERS_PER_PART);
}

/** Characters or elements between two charges: a loop need not charge each. */
export const PORTION = 1024;

/** This meter as an object, for functions that take a budget. */
export const COST_METER: CostMeter = { step: spend, borrow: grow };
