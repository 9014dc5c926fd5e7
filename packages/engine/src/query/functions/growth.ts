/**
 * Cost of function results: charges memory and steps to the budget of the statement.
 *
 * A result no larger than its arguments is garbage as soon as its row is done, or the code that
 * keeps the row charges it; only one larger than most documents is charged here. A result that can
 * outgrow its arguments is charged from the first kilobyte, before it is made: repeat('x', 1e12)
 * must fail, not fill the memory.
 */

import type { Run } from "../frame/frame.ts";

/** Larger than most documents, so that a scan may call a function on each of them. */
const COPY_BYTES = 64 * 1024;
const GROWTH_BYTES = 1024;

/** Bytes written per step of the budget. */
const BYTES_PER_STEP = 4096;

export const ELEMENT_BYTES = 16;

/** Charges a result that is no larger than its arguments. */
export function chargeCopy(run: Run, bytes: number): void {
  if (bytes > COPY_BYTES) charge(run, bytes);
}

/** Charges an array of existing elements. */
export function chargeArray(run: Run, length: number): void {
  chargeCopy(run, length * ELEMENT_BYTES);
}

/** Charges a result whose size depends on a number or on shared parts. */
export function chargeGrowth(run: Run, bytes: number): void {
  if (bytes > GROWTH_BYTES) charge(run, bytes);
}

function charge(run: Run, bytes: number): void {
  run.budget.borrow(bytes);
  run.budget.step(Math.ceil(bytes / BYTES_PER_STEP));
}

/** Elements examined per step of the budget. */
const ELEMENTS_PER_STEP = 64;

/** Charges the steps of a loop over existing elements. */
export function countWork(run: Run, elements: number): void {
  if (elements > ELEMENTS_PER_STEP) run.budget.step(elements / ELEMENTS_PER_STEP);
}
