/**
 * Receive queue: holds the inbound batches of a link that are not merged yet, in order.
 *
 * An inbound batch waits until a transaction takes it, and is open until that transaction is
 * durable. A refused one returns to its place. The queue therefore always knows the position up to
 * which everything is merged; cursors and sweeps rely on it. The queue merges nothing itself.
 */

import type { FollowedQuery } from "./followed-query.ts";
import type { Arrival, Parcel, Reached } from "./link-batch.ts";

/** Approximate size of one transaction. */
export interface BatchSize {
  readonly batchDocuments: number;
  readonly batchBytes: number;
}

interface Wait {
  readonly order: number;
  readonly resolve: () => void;
}

export class ParcelLine {
  /** Inbound batches that no transaction has taken. */
  #waiting: Parcel[] = [];
  /** All that are not merged, by their order. */
  readonly #open = new Map<number, Parcel>();
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
    const parcel = { order: ++this.#lastOrder, arrivals, reached, atMs };
    this.#waiting.push(parcel);
    this.#set(parcel);
  }

  /** Takes inbound batches for a transaction; a cursor waits until all before it is durable. */
  take({ batchDocuments, batchBytes }: BatchSize, isBusy: boolean): Parcel[] {
    const batch: Parcel[] = [];
    let documents = 0;
    let bytes = 0;
    for (let [parcel] = this.#waiting; parcel !== undefined; [parcel] = this.#waiting) {
      if (parcel.reached.length > 0 && isBusy) break;
      documents += countOf(parcel);
      bytes += bytesOf(parcel);
      const isMore = batch.length > 0 && (documents > batchDocuments || bytes > batchBytes);
      if (isMore || (this.#apart > 0 && batch.length === 1)) break;
      batch.push(parcel);
      this.#waiting.shift();
    }
    if (batch.length > 0 && this.#apart > 0) this.#apart--;
    return batch;
  }

  /** Puts back inbound batches to merge one by one: all but one of them may be valid. */
  putBackApart(batch: readonly Parcel[]): void {
    this.#apart += batch.length;
    this.#waiting.unshift(...batch);
  }

  /** Puts back the rest of a refused inbound batch. */
  putBack(parcel: Parcel): void {
    this.#waiting.unshift(parcel);
    this.#set(parcel);
  }

  /** Nothing of these is left to merge. */
  merged(batch: readonly Parcel[]): void {
    for (const parcel of batch) {
      const known = this.#open.get(parcel.order);
      if (known !== undefined) this.#bytes -= bytesOf(known);
      this.#open.delete(parcel.order);
    }
    this.#wake();
  }

  /** The first inbound batch that is not merged after these are. */
  openBehind(batch: readonly Parcel[]): number {
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
    this.#waiting = this.#waiting.map((parcel) => {
      const arrivals = withoutQueries(parcel.arrivals, queries);
      const reached = parcel.reached.filter(({ query }) => !queries.has(query));
      const rest = { ...parcel, arrivals, reached };
      this.#set(rest);
      return rest;
    });
  }

  /** Ends merging, except for transactions under way. No cursor may count what still waits. */
  end(): void {
    this.#isOver = true;
    for (const parcel of this.#waiting) this.#set({ ...parcel, arrivals: [], reached: [] });
    this.#waiting = [];
    this.#wake();
  }

  #set(parcel: Parcel): void {
    const known = this.#open.get(parcel.order);
    this.#bytes += bytesOf(parcel) - (known === undefined ? 0 : bytesOf(known));
    this.#open.set(parcel.order, parcel);
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

function bytesOf({ arrivals }: Parcel): number {
  let bytes = 0;
  for (const arrival of arrivals) bytes += arrival.bytes;
  return bytes;
}

function countOf({ arrivals }: Parcel): number {
  let count = 0;
  for (const { merges } of arrivals) count += merges.length;
  return count;
}
