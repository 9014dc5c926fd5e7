/**
 * Link order: tracks which earlier links of a store to the same source are not over yet.
 *
 * A link may begin before an earlier one has merged everything. Documents that the earlier one
 * still brings are in no cursor. So the later one must know that they may come, and when they have.
 * Nothing is kept of links that are over.
 */

import type { Store } from "../store/store.ts";

/** Links that are not over, by the history of their source. */
const TURNS = new WeakMap<Store, Map<string, Set<LinkOrder>>>();

export class LinkOrder {
  readonly #source: string;
  readonly #slicer: Map<string, Set<LinkOrder>>;
  /** Earlier links that are not over. */
  readonly #before: Set<LinkOrder>;
  #waits: (() => void)[] = [];

  constructor(store: Store, source: string) {
    const slicer = TURNS.get(store) ?? new Map<string, Set<LinkOrder>>();
    TURNS.set(store, slicer);
    const all = slicer.get(source) ?? new Set<LinkOrder>();
    slicer.set(source, all);
    this.#source = source;
    this.#slicer = slicer;
    this.#before = new Set(all);
    all.add(this);
  }

  /** Whether all earlier links are over. */
  get isFirst(): boolean {
    return this.#before.size === 0;
  }

  /** Resolves when all earlier links are over, or this one is. */
  first(): Promise<void> {
    if (this.isFirst) return Promise.resolve();
    return new Promise((resolve) => this.#waits.push(resolve));
  }

  /** The link is over: everything that it received is merged, or never will be. */
  end(): void {
    const all = this.#slicer.get(this.#source);
    all?.delete(this);
    if (all?.size === 0) this.#slicer.delete(this.#source);
    this.#before.clear();
    this.#wake();
    for (const turn of all ?? []) if (turn.#before.delete(this)) turn.#wake();
  }

  #wake(): void {
    if (!this.isFirst) return;
    const waits = this.#waits;
    this.#waits = [];
    for (const resolve of waits) resolve();
  }
}
