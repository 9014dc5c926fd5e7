/**
 * RerunRows: result of a live query that runs its statement again whenever a change could matter.
 */

import type { Value } from "@bigpeer/protocol";
import type { Steps } from "../frame/steps.ts";
import type { Execution } from "../run/execution.ts";
import type { RunWork } from "../statement/work.ts";
import { memorySize } from "../value/memory-size.ts";
import type { DocumentChange } from "./document-change.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";
import type { RowKeeper } from "./row-keeper.ts";

export class RerunRows implements RowKeeper {
  readonly #run: RunWork;
  /** Undefined after they were returned. */
  #rows: readonly Value[] | undefined;
  #bytes = 0;
  #isStale = true;

  constructor(run: RunWork) {
    this.#run = run;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isStale(): boolean {
    return this.#isStale;
  }

  invalidate(): void {
    this.#isStale = true;
  }

  *fill(execution: Execution): Steps<void> {
    const { items } = yield* this.#run(execution);
    let bytes = 0;
    for (const item of items) bytes += memorySize(item);
    this.#rows = items;
    this.#bytes = bytes;
    this.#isStale = false;
  }

  take<T>(entry: MatchEntry<T>, change: DocumentChange, index: MatchIndex<T>): boolean {
    if (this.#isStale) return false;
    const match = index.matchOf(entry, change);
    if (match === undefined) return false;
    if (match.kind === "failed") throw match.error;
    this.#isStale = true;
    return true;
  }

  settle(): readonly Value[] | undefined {
    const rows = this.#rows;
    this.#rows = undefined;
    return rows;
  }
}
