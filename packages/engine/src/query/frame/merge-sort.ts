/**
 * mergeSorted: stable merge sort that pauses every few thousand rows. It sorts positions; the
 * caller knows the rows at them and compares them.
 */

import type { Budget } from "./budget.ts";
import { WORK_PER_PAUSE } from "./pace.ts";
import type { Steps } from "./steps.ts";

/** Whether the row at one position comes before the row at another. */
export type ComesBefore = (a: number, b: number) => boolean;

/** Rows of a block that is sorted by insertion, which is as fast for so few. */
const BLOCK_ROWS = 16;

/** Rows after which the sort offers a pause. */
const PIECE_ROWS = 4096;

/** Rows merged between two checks of the work done. */
const MERGED_ROWS = 64;

/** Sorts positions by `before`. The sort is stable and may overwrite `places`. */
export function* mergeSorted(
  places: Uint32Array,
  before: ComesBefore,
  budget: Budget,
): Steps<Uint32Array> {
  const { length } = places;
  // Comparing long keys takes long: that counts as work.
  let paused = budget.work;
  for (let start = 0; start < length; start += BLOCK_ROWS) {
    insertionSort(places.subarray(start, start + BLOCK_ROWS), before);
    const isPiece = start % PIECE_ROWS === PIECE_ROWS - BLOCK_ROWS;
    if (isPiece) budget.step(PIECE_ROWS);
    else if (budget.work - paused < WORK_PER_PAUSE) continue;
    paused = budget.work;
    yield;
  }
  let from: Uint32Array = places;
  let to: Uint32Array = new Uint32Array(length);
  for (let width = BLOCK_ROWS; width < length; width *= 2) {
    let since = 0;
    for (let start = 0; start < length; start += 2 * width) {
      const merge = startMerge(start, width, length);
      while (merge.next < merge.end) {
        const rows = Math.min(MERGED_ROWS, PIECE_ROWS - since);
        since += goOn(merge, { from, to, before }, rows);
        if (since >= PIECE_ROWS) {
          since = 0;
          budget.step(PIECE_ROWS);
        } else if (budget.work - paused < WORK_PER_PAUSE) continue;
        paused = budget.work;
        yield;
      }
    }
    budget.step(since);
    [from, to] = [to, from];
  }
  return from;
}

function insertionSort(places: Uint32Array, before: ComesBefore): void {
  for (let i = 1; i < places.length; i++) {
    const place = places[i] as number;
    let at = i;
    for (; at > 0 && before(place, places[at - 1] as number); at--) {
      places[at] = places[at - 1] as number;
    }
    places[at] = place;
  }
}

/** A merge of two sorted neighbours in progress: next position of each, and of the result. */
interface Merge {
  left: number;
  readonly middle: number;
  right: number;
  readonly end: number;
  next: number;
}

function startMerge(start: number, width: number, length: number): Merge {
  const middle = Math.min(start + width, length);
  const end = Math.min(middle + width, length);
  return { left: start, middle, right: middle, end, next: start };
}

interface Lists {
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly before: ComesBefore;
}

/** Merges up to so many rows; returns how many it merged. */
function goOn(merge: Merge, { from, to, before }: Lists, rows: number): number {
  const { middle, end } = merge;
  let { left, right, next } = merge;
  const first = next;
  const stop = Math.min(next + rows, end);
  while (next < stop) {
    const isRight =
      left >= middle || (right < end && before(from[right] as number, from[left] as number));
    to[next++] = from[isRight ? right++ : left++] as number;
  }
  Object.assign(merge, { left, right, next });
  return next - first;
}
