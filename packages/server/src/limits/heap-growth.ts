/**
 * Heap growth: limits how far the JavaScript heap grows before V8 collects garbage.
 *
 * V8 lets a heap grow to up to four times what was live at the last collection. That is fast for a
 * small heap, and hundreds of megabytes of garbage for a large one. So a large heap may grow by
 * less than a third; a small one grows as V8 decides. V8 reads the flag at the end of each
 * collection, so it can change at any time.
 */

import { getHeapStatistics, setFlagsFromString } from "node:v8";

/** A heap above this is large; below three quarters of it, it is small again. */
export const LARGE_HEAP_BYTES: number = 128 * 1024 * 1024;
const SMALL_AGAIN = 3 / 4;

/** Growth of a large heap in percent; 0 leaves it to V8. */
const LARGE_PERCENT = 30;
const FREE_PERCENT = 0;

const LOOK_MS = 100;

/** Heap statistics and flags of V8. */
export interface HeapHost {
  usedBytes(): number;
  setGrowingPercent(percent: number): void;
}

const V8_HEAP: HeapHost = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  setGrowingPercent: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
};

export class HeapGrowth {
  readonly #heap: HeapHost;
  #isLarge = false;

  constructor(heap: HeapHost = V8_HEAP) {
    this.#heap = heap;
  }

  /** Checks periodically, without keeping the process alive. */
  watch(): void {
    setInterval(() => this.look(), LOOK_MS).unref();
  }

  look(): void {
    const bound = this.#isLarge ? LARGE_HEAP_BYTES * SMALL_AGAIN : LARGE_HEAP_BYTES;
    const isLarge = this.#heap.usedBytes() > bound;
    if (isLarge === this.#isLarge) return;
    this.#isLarge = isLarge;
    this.#heap.setGrowingPercent(isLarge ? LARGE_PERCENT : FREE_PERCENT);
  }
}
