/**
 * Profile: statistics of each operator of a statement, for PROFILE: rows that it emitted and its
 * own time. Other statements pay one check per operator, not one per row.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Frame } from "../frame/frame.ts";
import { nanoseconds } from "../system/requests.ts";
import type { Pull, Sink } from "./row-stream.ts";

/** Statistics of one operator. */
interface OperatorStats {
  /** Rows emitted. */
  rows: number;
  /** Time including the operators that it sends rows to or pulls them from. */
  ms: number;
  /** The part of `ms` spent in other operators. */
  othersMs: number;
}

export class Profile {
  readonly #elapsed: () => number;
  /** By the plan node of the operator. */
  readonly #stats = new Map<object, OperatorStats>();
  readonly #entries = new Map<number, number>();

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  /** Statistics of an operator; undefined when it did not run. */
  statsOf(node: object): ValueObject | undefined {
    const stats = this.#stats.get(node);
    if (stats === undefined) return undefined;
    const { rows, ms, othersMs } = stats;
    return { rows, time: nanoseconds(Math.max(0, ms - othersMs)) };
  }

  /** Statistics of an index, by its number. */
  entriesRead(index: number): ValueObject | undefined {
    const rows = this.#entries.get(index);
    return rows === undefined ? undefined : { rows };
  }

  countEntry(index: number): void {
    this.#entries.set(index, (this.#entries.get(index) ?? 0) + 1);
  }

  /** The same rows, counted. `left` is the operator that they are pulled from. */
  *pull(node: object, rows: Pull, left?: object): Pull {
    const stats = this.#of(node);
    const others = left === undefined ? undefined : this.#of(left);
    const iterator = rows[Symbol.iterator]();
    try {
      for (;;) {
        const start = this.#elapsed();
        const before = others?.ms ?? 0;
        const { done, value } = iterator.next();
        stats.ms += this.#elapsed() - start;
        stats.othersMs += (others?.ms ?? 0) - before;
        if (done === true) return;
        if (value) stats.rows++;
        yield value;
      }
    } finally {
      iterator.return?.();
    }
  }

  /** The sink that `stage` makes of the next one, counted. */
  stage(node: object, next: Sink, stage: (next: Sink) => Sink): Sink {
    const stats = this.#of(node);
    const behind = this.#timed(next, (ms) => {
      stats.othersMs += ms;
    });
    const counted: Sink = {
      row: (frame) => {
        const goesOn = behind.row(frame);
        // Only now: a row that waits for a subquery is tried again.
        stats.rows++;
        return goesOn;
      },
      end: () => behind.end(),
    };
    return this.#timed(stage(counted), (ms) => {
      stats.ms += ms;
    });
  }

  /** The last stage, counted; `items` is its result. */
  last(node: object, sink: Sink, items: readonly unknown[]): Sink {
    const stats = this.#of(node);
    return this.#timed(sink, (ms) => {
      stats.ms += ms;
      stats.rows = items.length;
    });
  }

  /** The same function of a row, counted; `within` is the operator that calls it. */
  call<T>(node: object, within: object, work: () => T): T {
    const stats = this.#of(node);
    const start = this.#elapsed();
    try {
      const result = work();
      stats.rows++;
      return result;
    } finally {
      const ms = this.#elapsed() - start;
      stats.ms += ms;
      this.#of(within).othersMs += ms;
    }
  }

  #timed(sink: Sink, add: (ms: number) => void): Sink {
    const elapsed = this.#elapsed;
    const row = (frame: Frame): boolean => {
      const start = elapsed();
      try {
        return sink.row(frame);
      } finally {
        add(elapsed() - start);
      }
    };
    const end = function* end(): Iterable<void> {
      const steps = sink.end()[Symbol.iterator]();
      for (;;) {
        const start = elapsed();
        const { done } = steps.next();
        add(elapsed() - start);
        if (done === true) return;
        yield;
      }
    };
    return { row, end };
  }

  #of(node: object): OperatorStats {
    let stats = this.#stats.get(node);
    if (stats === undefined) {
      stats = { rows: 0, ms: 0, othersMs: 0 };
      this.#stats.set(node, stats);
    }
    return stats;
  }
}
