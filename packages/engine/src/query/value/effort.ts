/**
 * Effort: work on values of many parts, counted against the statement that runs now.
 *
 * Comparing, measuring or copying a value takes as long as the value is large, and one that an
 * expression made can be far larger than the memory that it takes, because parts may be shared. It
 * is done in too many places for the budget to be handed to all of them. A statement runs without
 * interruption between two pauses, so whoever runs it says for how long the effort is its own.
 */

export interface Meter {
  step(steps: number): void;
  borrow(bytes: number): void;
}

let meter: Meter | undefined;

/** What `work` spends is counted by `current`. */
export function underMeter<T>(current: Meter, work: () => T): T {
  const before = meter;
  meter = current;
  try {
    return work();
  } finally {
    meter = before;
  }
}

/** Parts of a value that are looked at. */
export function spend(parts: number): void {
  meter?.step(parts);
}

/** Bytes of a copy that is made. */
export function grow(bytes: number): void {
  meter?.borrow(bytes);
}

/** Characters or bytes that count as one part, where the host goes through them by itself. */
const LENGTH_PER_PART = 256;

/** Those that count as one part where each is looked at on its own. */
const CHARACTERS_PER_PART = 64;

/** Text or binary that is gone through; what is short costs nothing worth counting. */
export function spendLength(length: number): void {
  if (length > LENGTH_PER_PART) spend(length / LENGTH_PER_PART);
}

/** Text or a list of which each character or element is looked at on its own, a portion at a time. */
export function spendEach(count: number): void {
  spend(count / CHARACTERS_PER_PART);
}

/** Characters or elements that are looked at before they are counted: a loop need not count each. */
export const PORTION = 1024;

/** The same as a budget that can be handed on. */
export const EFFORT: Meter = { step: spend, borrow: grow };
