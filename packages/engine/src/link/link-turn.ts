/**
 * Link turn: which links came before this one, of those over which a store follows the same source.
 *
 * A link may be there before the one before it has merged all that it had. What that still brings is
 * in no cursor yet, so the next one has to know that it may come, and when it has. Nothing is kept of
 * links that are over.
 */

import type { Store } from "../store/store.ts";

/** Turns of links that are not over, by the history of their source. */
const TURNS = new WeakMap<Store, Map<string, Set<LinkTurn>>>();

export class LinkTurn {
  readonly #source: string;
  readonly #turns: Map<string, Set<LinkTurn>>;
  /** Those that came before and are not over. */
  readonly #before: Set<LinkTurn>;
  #waits: (() => void)[] = [];

  constructor(store: Store, source: string) {
    const turns = TURNS.get(store) ?? new Map<string, Set<LinkTurn>>();
    TURNS.set(store, turns);
    const all = turns.get(source) ?? new Set<LinkTurn>();
    turns.set(source, all);
    this.#source = source;
    this.#turns = turns;
    this.#before = new Set(all);
    all.add(this);
  }

  /** Whether all links before this one are over. */
  get isFirst(): boolean {
    return this.#before.size === 0;
  }

  /** Resolves when it is the first, or over itself. */
  first(): Promise<void> {
    if (this.isFirst) return Promise.resolve();
    return new Promise((resolve) => this.#waits.push(resolve));
  }

  /** The link is over: all that it had is merged, or will never be. */
  end(): void {
    const all = this.#turns.get(this.#source);
    all?.delete(this);
    if (all?.size === 0) this.#turns.delete(this.#source);
    this.#before.clear();
    this.#tell();
    for (const turn of all ?? []) if (turn.#before.delete(this)) turn.#tell();
  }

  #tell(): void {
    if (!this.isFirst) return;
    const waits = this.#waits;
    this.#waits = [];
    for (const resolve of waits) resolve();
  }
}
