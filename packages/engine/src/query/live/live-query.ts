/**
 * FollowedQuery: one live query with its current rows as of a durable state.
 */

import { equalValues, type Value } from "@bigpeer/protocol";
import type { View } from "../../store/view.ts";
import { locate } from "../fault.ts";
import { newFrame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import type { Execution } from "../run/execution.ts";
import { underMeter } from "../value/cost-meter.ts";
import { memorySize } from "../value/memory-size.ts";
import type { DocumentChange } from "./document-change.ts";
import type { HeldMemory } from "./held-memory.ts";
import { KeptRows } from "./kept-rows.ts";
import { type LiveInput, type LiveRuns, metered } from "./live-run.ts";
import type { LiveStatement } from "./live-statement.ts";
import type { MatchEntry, MatchIndex } from "./match-index.ts";
import { RerunRows } from "./rerun-rows.ts";
import type { RowKeeper } from "./row-keeper.ts";

/** The interface of a live query for its followers. */
export interface LiveQuery {
  readonly text: string;
  /** The collections that it reads. */
  readonly collections: readonly string[];
  /** In order. Each differing result is a new array, which is never modified. */
  readonly rows: readonly Value[];
  /** Why the query ended: it could not be evaluated, or would hold too much memory. */
  readonly failure: unknown;
}

/** Approximate bytes of a query without its arguments, text and rows. */
const QUERY_BYTES = 1024;

/** Resources shared by all queries of a store. */
export interface LiveHost {
  readonly runs: LiveRuns;
  readonly memory: HeldMemory;
  readonly index: MatchIndex<FollowedQuery>;
}

export class FollowedQuery implements LiveQuery {
  /** The same for queries with the same rows. */
  readonly key: string;
  readonly #statement: LiveStatement;
  readonly #input: LiveInput;
  readonly #host: LiveHost;
  /** Created by the first run, which evaluates LIMIT. */
  #keeper: RowKeeper | undefined;
  #entries: readonly MatchEntry<FollowedQuery>[] = [];
  /** Bytes without the rows. */
  readonly #ownBytes: number;
  #held = 0;
  #rows: readonly Value[] = [];
  failure: unknown;
  isOver = false;
  /** Number of followers. */
  holders = 0;
  /** The transaction whose state it shows; undefined if it is the common one. */
  since: number | undefined;

  constructor(key: string, statement: LiveStatement, input: LiveInput, host: LiveHost) {
    this.key = key;
    this.#statement = statement;
    this.#input = input;
    this.#host = host;
    this.#ownBytes = QUERY_BYTES + 2 * input.text.length + memorySize(input.args);
  }

  get text(): string {
    return this.#input.text;
  }

  get collections(): readonly string[] {
    return this.#statement.collections.map(({ collection }) => collection);
  }

  get rows(): readonly Value[] {
    return this.#rows;
  }

  /** Adds the query to the index of conditions. */
  follow(): void {
    const { conditions, collections } = this.#statement;
    const plans = this.#input.isStrict ? collections : conditions;
    this.#entries = plans.map((plan) => this.#host.index.add(plan, this.#input, this));
  }

  /** Releases everything. Idempotent. */
  end(): void {
    this.isOver = true;
    for (const entry of this.#entries) this.#host.index.remove(entry);
    this.#entries = [];
    this.#keeper = undefined;
    this.#host.memory.resize(this.#held, 0);
    this.#held = 0;
  }

  /** Ends the query with a failure; it keeps its last rows. */
  fail(error: unknown): void {
    this.failure = locate(error, this.text);
    this.end();
  }

  /** Requires that its rows are read again. */
  invalidate(): void {
    this.#keeper?.invalidate();
  }

  /** Takes a change that may affect one of its entries; false if it does not. */
  take(entry: MatchEntry<FollowedQuery>, change: DocumentChange): boolean {
    return this.#keeper?.take(entry, change, this.#host.index) ?? false;
  }

  /** Brings the rows to a state of the store; whether they differ from those before. */
  *settle(view: View): Steps<boolean> {
    if (this.#keeper?.isStale !== false) return yield* this.#refill(view);
    return this.#update(this.#keeper, this.#host.runs.beginRows(view, this.#input));
  }

  *#refill(view: View): Steps<boolean> {
    const execution = this.#host.runs.begin(view, this.#input);
    const { budget } = execution.run;
    try {
      const keeper = (this.#keeper ??= this.#newKeeper(execution));
      yield* metered(keeper.fill(execution), budget);
      // The last follower may have left: then nothing is held for it.
      return !this.isOver && this.#update(keeper, execution);
    } finally {
      budget.end();
    }
  }

  #update(keeper: RowKeeper, execution: Execution): boolean {
    const rows = underMeter(execution.run.budget, () => keeper.settle(execution));
    this.#hold(keeper.bytes);
    if (rows === undefined || isSame(rows, this.#rows)) return false;
    this.#rows = rows;
    return true;
  }

  #newKeeper({ run }: Execution): RowKeeper {
    const { kept, run: runAll } = this.#statement;
    if (kept === undefined || this.#input.isStrict) return new RerunRows(runAll);
    return new KeptRows(kept, kept.window(newFrame(run, kept.slots)));
  }

  #hold(rowBytes: number): void {
    const bytes = this.#ownBytes + rowBytes;
    this.#host.memory.resize(this.#held, bytes);
    this.#held = bytes;
  }
}

function isSame(a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((row, i) => row === b[i] || equalValues(row, b[i]));
}
