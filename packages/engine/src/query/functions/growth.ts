/**
 * What results of functions cost.
 *
 * A result that is no larger than the arguments is garbage as soon as its row is done, or is counted
 * by whoever keeps the row; it is counted here only where it is larger than documents are. A result
 * that can be larger is counted from the first kilobyte on, before it is made: repeat('x', 1e12)
 * must fail, not fill the memory.
 */

import type { Run } from "../frame/frame.ts";

/** Larger than most documents, so that a scan may call a function on each of them. */
const COPY_BYTES = 64 * 1024;
const GROWTH_BYTES = 1024;

/** Bytes that are filled while one row is evaluated, for a step of the budget. */
const BYTES_PER_STEP = 4096;

export const ELEMENT_BYTES = 16;

/** Counts a result that its arguments bound. */
export function chargeCopy(run: Run, bytes: number): void {
  if (bytes > COPY_BYTES) charge(run, bytes);
}

/** Counts an array that is made of elements that were there before. */
export function chargeArray(run: Run, length: number): void {
  chargeCopy(run, length * ELEMENT_BYTES);
}

/** Counts a result that nothing but a number bounds, or the sharing of parts. */
export function chargeGrowth(run: Run, bytes: number): void {
  if (bytes > GROWTH_BYTES) charge(run, bytes);
}

function charge(run: Run, bytes: number): void {
  run.budget.borrow(bytes);
  run.budget.step(Math.ceil(bytes / BYTES_PER_STEP));
}

/** Elements that are looked at while one row is evaluated, for a step of the budget. */
const ELEMENTS_PER_STEP = 64;

/** Counts the work of a loop over what is held already. */
export function countWork(run: Run, elements: number): void {
  if (elements > ELEMENTS_PER_STEP) run.budget.step(elements / ELEMENTS_PER_STEP);
}
