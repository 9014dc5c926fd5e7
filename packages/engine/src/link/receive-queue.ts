/**
 * Receive queue: holds the inbound batches of a link that are not merged yet, in order.
 *
 * An inbound batch waits until a transaction takes it, and is open until that transaction is
 * durable. A refused one returns to its place. The queue therefore always knows the position up to
 * which everything is merged; cursors and sweeps rely on it. The queue merges nothing itself.
 */

import type { FollowedQuery } from "./followed-query.ts";
import type { Arrival, InboundBatch, Reached } from "./link-batch.ts";

/** Approximate size of one transaction. */
export interface BatchSize {
  readonly batchDocuments: number;
  readonly batchBytes: number;
}

interface Wait {
  readonly order: number;
  readonly resolve: () => void;
}

export class ReceiveQueue {
  /** Inbound batches that no transaction has taken. */
  #waiting: InboundBatch[] = [];
  /** All that are not merged, by their order. */
  readonly #open = new Map<number, InboundBatch>();
  #lastOrder = 0;
  #bytes = 0;
  /** Number of inbound batches to merge one by one, because they were refused together. */
  #apart = 0;
  #isOver = false;
  #waits: Wait[] = [];

  /** Order of the last inbound batch. */
  get lastOrder(): number {
    return this.#lastOrder;
  }

  /** Bytes of all that is not merged. */
  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** When the first waiting inbound batch arrived. */
  get oldestMs(): number | undefined {
    return this.#waiting[0]?.atMs;
  }

  push(arrivals: readonly Arrival[], reached: readonly Reached[], atMs: number): void {
    const inbound = { order: ++this.#lastOrder, arrivals, reached, atMs };
    this.#waiting.push(inbound);
    this.#set(inbound);
  }

  /** Takes inbound batches for a transaction; a cursor waits until all before it is durable. */
  take({ batchDocuments, batchBytes }: BatchSize, isBusy: boolean): InboundBatch[] {
    const batch: InboundBatch[] = [];
    let documents = 0;
    let bytes = 0;
    for (let [inbound] = this.#waiting; inbound !== undefined; [inbound] = this.#waiting) {
      if (inbound.reached.length > 0 && isBusy) break;
      documents += countOf(inbound);
      bytes += bytesOf(inbound);
      const isMore = batch.length > 0 && (documents > batchDocuments || bytes > batchBytes);
      if (isMore || (this.#apart > 0 && batch.length === 1)) break;
      batch.push(inbound);
      this.#waiting.shift();
    }
    if (batch.length > 0 && this.#apart > 0) this.#apart--;
    return batch;
  }

  /** Puts back inbound batches to merge one by one: all but one of them may be valid. */
  putBackApart(batch: readonly InboundBatch[]): void {
    this.#apart += batch.length;
    this.#waiting.unshift(...batch);
  }

  /** Puts back the rest of a refused inbound batch. */
  putBack(inbound: InboundBatch): void {
    this.#waiting.unshift(inbound);
    this.#set(inbound);
  }

  /** Nothing of these is left to merge. */
  merged(batch: readonly InboundBatch[]): void {
    for (const inbound of batch) {
      const known = this.#open.get(inbound.order);
      if (known !== undefined) this.#bytes -= bytesOf(known);
      this.#open.delete(inbound.order);
    }
    this.#wake();
  }

  /** The first inbound batch that is not merged after these are. */
  openBehind(batch: readonly InboundBatch[]): number {
    const orders = new Set(batch.map(({ order }) => order));
    for (const order of this.#open.keys()) if (!orders.has(order)) return order;
    return Number.POSITIVE_INFINITY;
  }

  /** Whether documents of a query of this name are on their way into the store. */
  isBringing(name: string): boolean {
    for (const { arrivals } of this.#open.values()) {
      if (arrivals.some(({ queries }) => queries.some((query) => query.name === name))) return true;
    }
    return false;
  }

  /** Resolves when all that arrived so far is merged, or when merging ends. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#waits.push({ order: this.#lastOrder, resolve });
      this.#wake();
    });
  }

  /** Removes these queries from the waiting inbound batches. */
  release(queries: ReadonlySet<FollowedQuery>): void {
    this.#waiting = this.#waiting.map((inbound) => {
      const arrivals = withoutQueries(inbound.arrivals, queries);
      const reached = inbound.reached.filter(({ query }) => !queries.has(query));
      const rest = { ...inbound, arrivals, reached };
      this.#set(rest);
      return rest;
    });
  }

  /** Ends merging, except for transactions under way. No cursor may count what still waits. */
  end(): void {
    this.#isOver = true;
    for (const inbound of this.#waiting) this.#set({ ...inbound, arrivals: [], reached: [] });
    this.#waiting = [];
    this.#wake();
  }

  #set(inbound: InboundBatch): void {
    const known = this.#open.get(inbound.order);
    this.#bytes += bytesOf(inbound) - (known === undefined ? 0 : bytesOf(known));
    this.#open.set(inbound.order, inbound);
  }

  #wake(): void {
    const open = this.#isOver ? Number.POSITIVE_INFINITY : this.openBehind([]);
    const isOver = ({ order }: Wait): boolean => order < open;
    const over = this.#waits.filter(isOver);
    if (over.length === 0) return;
    this.#waits = this.#waits.filter((wait) => !isOver(wait));
    for (const { resolve } of over) resolve();
  }
}

/** Removes arrivals that belong to these queries alone; others keep theirs. */
export function withoutQueries(
  arrivals: readonly Arrival[],
  ended: ReadonlySet<FollowedQuery>,
): Arrival[] {
  return arrivals.flatMap((arrival) => {
    const queries = arrival.queries.filter((query) => !ended.has(query));
    return queries.length === 0 ? [] : [{ ...arrival, queries }];
  });
}

function bytesOf({ arrivals }: InboundBatch): number {
  let bytes = 0;
  for (const arrival of arrivals) bytes += arrival.bytes;
  return bytes;
}

function countOf({ arrivals }: InboundBatch): number {
  let count = 0;
  for (const { merges } of arrivals) count += merges.length;
  return count;
}
