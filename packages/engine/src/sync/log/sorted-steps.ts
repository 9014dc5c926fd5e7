/**
 * Sorted steps: a merge sort with pauses, for long lists. It sorts short runs at once, then merges
 * them in pairs. It is stable, as Array.prototype.sort is.
 */

import type { Steps } from "../../query/frame/steps.ts";

/** Elements that are sorted or merged between two pauses. */
const RUN_LENGTH = 1024;

export function* sortedInSteps<T>(
  list: readonly T[],
  compare: (a: T, b: T) => number,
): Steps<readonly T[]> {
  if (list.length <= RUN_LENGTH) return list.toSorted(compare);
  let sorted: T[] = [];
  for (let i = 0; i < list.length; i += RUN_LENGTH) {
    for (const each of list.slice(i, i + RUN_LENGTH).sort(compare)) sorted.push(each);
    yield;
  }
  for (let length = RUN_LENGTH; length < sorted.length; length *= 2) {
    const merged: T[] = [];
    for (let from = 0; from < sorted.length; from += 2 * length) {
      yield* merge(sorted, { from, length }, compare, merged);
    }
    sorted = merged;
  }
  return sorted;
}

/** Merges two adjacent runs of at most `length` elements. */
function* merge<T>(
  runs: readonly T[],
  { from, length }: { readonly from: number; readonly length: number },
  compare: (a: T, b: T) => number,
  merged: T[],
): Steps<void> {
  const middle = Math.min(from + length, runs.length);
  const end = Math.min(middle + length, runs.length);
  let left = from;
  let right = middle;
  while (left < middle || right < end) {
    const isLeft =
      right >= end || (left < middle && compare(runs[left] as T, runs[right] as T) <= 0);
    merged.push(runs[isLeft ? left++ : right++] as T);
    if (merged.length % RUN_LENGTH === 0) yield;
  }
}
