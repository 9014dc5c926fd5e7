/**
 * Scheduler: simulated time. Everything that happens in a run is an event at a time; the next one
 * begins when all promises of the last one have settled, so one seed gives one order of events.
 *
 * A failure is noted, not thrown through the code that is simulated: that might catch it. The run ends
 * behind the event in which it happened.
 */

import type { Random } from "../support/test-platform.ts";

/** What a run broke, and where. */
export class SimFailure extends Error {
  readonly invariant: string;
  readonly step: number;

  constructor(invariant: string, detail: string, step: number) {
    super(`${invariant}: ${detail}`);
    this.name = "SimFailure";
    this.invariant = invariant;
    this.step = step;
  }
}

interface SimEvent {
  readonly time: number;
  readonly order: number;
  work: (() => void) | undefined;
}

const TRACE_LENGTH = 80;

export class Scheduler {
  readonly random: Random;
  readonly #heap: SimEvent[] = [];
  readonly #trace: string[] = [];
  #now = 0;
  #order = 0;
  #step = 0;
  #hash = 0;
  #failure: SimFailure | undefined;
  readonly #isVerbose: boolean;

  constructor(random: Random, isVerbose: boolean) {
    this.random = random;
    this.#isVerbose = isVerbose;
  }

  /** Milliseconds since the run began. */
  get now(): number {
    return this.#now;
  }

  get steps(): number {
    return this.#step;
  }

  get failure(): SimFailure | undefined {
    return this.#failure;
  }

  /** A number that two runs share only when all that was noted is the same. */
  get fingerprint(): number {
    return this.#hash;
  }

  /** The last events, oldest first. */
  get trace(): readonly string[] {
    return this.#trace;
  }

  /** Does something later; returns what takes it back. */
  after(delayMs: number, work: () => void): () => void {
    const event: SimEvent = { time: this.#now + delayMs, order: this.#order++, work };
    push(this.#heap, event);
    return () => {
      event.work = undefined;
    };
  }

  /** A time between two bounds, now and then near the lower one and now and then at the upper. */
  between(low: number, high: number): number {
    return low + (this.random.below(1_000_000) / 1_000_000) * (high - low);
  }

  note(who: string, what: string): void {
    const line = `${this.#now.toFixed(3)} ${who}: ${what}`;
    let hash = this.#hash;
    for (let i = 0; i < line.length; i++) hash = (Math.imul(hash, 31) + line.charCodeAt(i)) | 0;
    this.#hash = hash;
    if (this.#isVerbose) process.stdout.write(`${line}\n`);
    this.#trace.push(line);
    if (this.#trace.length > TRACE_LENGTH) this.#trace.shift();
  }

  /** Only the first counts: the others follow from it. */
  fail(invariant: string, detail: string): void {
    if (this.#failure !== undefined) return;
    this.note("BROKEN", `${invariant}: ${detail}`);
    this.#failure = new SimFailure(invariant, detail, this.#step);
  }

  /** Runs events until `isDone`, asked after each, or until the time is over. True when it is done. */
  async runUntil(isDone: () => boolean, untilMs: number): Promise<boolean> {
    await settled();
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      if (isDone()) return true;
      const event = this.#heap[0];
      if (event === undefined || event.time > untilMs) {
        this.#now = Math.max(this.#now, untilMs);
        return false;
      }
      pop(this.#heap);
      if (event.work === undefined) continue;
      await this.#run(event, event.work);
    }
  }

  /** Runs events for so long. */
  async runFor(spanMs: number): Promise<void> {
    await this.runUntil(() => false, this.#now + spanMs);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #run(event: SimEvent, work: () => void): Promise<void> {
    this.#now = Math.max(this.#now, event.time);
    this.#step++;
    try {
      work();
    } catch (error) {
      this.fail("nothing throws", error instanceof Error ? (error.stack ?? "") : String(error));
    }
    await settled();
  }
}

/** All promises that can settle have: Node empties that queue before it comes to immediates. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

function push(heap: SimEvent[], event: SimEvent): void {
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !isBefore(event, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = event;
}

function pop(heap: SimEvent[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    const [left, right] = [heap[below], heap[below + 1]];
    if (left === undefined) break;
    let child = left;
    if (right !== undefined && isBefore(right, left)) {
      child = right;
      below++;
    }
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
