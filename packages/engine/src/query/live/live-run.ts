/**
 * Live runs: what a live query is evaluated with, on one state of the store.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { View } from "../../store/view.ts";
import { Budget } from "../frame/budget.ts";
import type { Run } from "../frame/frame.ts";
import type { MemoryPool } from "../frame/memory-pool.ts";
import type { Steps } from "../frame/steps.ts";
import type { Authority } from "../permission/authority.ts";
import { Judge } from "../permission/judge.ts";
import { NarrowedView } from "../permission/narrowed-view.ts";
import { type Execution, Warnings } from "../run/execution.ts";
import { Requests } from "../system/requests.ts";
import { Settings } from "../system/settings.ts";
import type { SystemContext } from "../system/system-collections.ts";
import { underMeter } from "../value/effort.ts";

/** What a query was registered with. */
export interface LiveInput {
  readonly text: string;
  readonly args: ValueObject;
  readonly authority: Authority | undefined;
  readonly isStrict: boolean;
}

export interface LiveRunsOptions {
  readonly platform: Platform;
  readonly appId: string;
  /** How long one run may take, and the memory that it may use. */
  readonly timeMs: number;
  readonly bytes: number;
  /** What all statements of the process share; undefined when nobody counts it. */
  readonly memory: MemoryPool | undefined;
}

export class LiveRuns {
  readonly #options: LiveRunsOptions;
  readonly #elapsed: () => number;
  /** For work on single rows: it is done for each commit, and a budget costs as much as a row. */
  readonly #rowBudget: Budget;
  /** Only to be complete: no live query reads a system collection. */
  readonly #system: Omit<SystemContext, "view">;

  constructor(options: LiveRunsOptions) {
    const { platform, appId, bytes } = options;
    this.#options = options;
    this.#elapsed = () => platform.elapsed();
    const elapsed = this.#elapsed;
    this.#rowBudget = new Budget({ elapsed, timeMsMax: Infinity, bytesMax: bytes });
    const settings = new Settings();
    const requests = new Requests({ platform, settings });
    this.#system = { store: undefined, isFull: false, settings, requests, appId, nowMs: 0 };
  }

  /** For what goes on as long as there are queries: each of them has a budget of its own. */
  endlessBudget(): Budget {
    return new Budget({ elapsed: this.#elapsed, timeMsMax: Infinity, bytesMax: Infinity });
  }

  /** A run of the whole statement. Whoever begins it ends its budget. */
  begin(whole: View, input: LiveInput): Execution {
    const { timeMs, bytes, memory } = this.#options;
    const limits = { timeMsMax: timeMs, bytesMax: bytes, pool: memory };
    return this.#execution(whole, input, new Budget({ elapsed: this.#elapsed, ...limits }));
  }

  /** Work on single rows, done at once. */
  beginRows(whole: View, input: LiveInput): Execution {
    this.#rowBudget.release();
    return this.#execution(whole, input, this.#rowBudget);
  }

  #execution(whole: View, input: LiveInput, budget: Budget): Execution {
    const { text, args, authority, isStrict } = input;
    const { platform, appId } = this.#options;
    const run: Run = { args, platform, budget, request: { id: "", appId, startMs: 0 } };
    const isNarrowed = authority !== undefined && !authority.isReadingAll;
    const judge = isNarrowed ? new Judge(authority, run) : undefined;
    const view = judge === undefined ? whole : new NarrowedView(whole, judge);
    const system = { view, ...this.#system };
    const warnings = new Warnings();
    return { run, text, isStrict, view, judge, transaction: undefined, warnings, system };
  }
}

/** The same steps, whose effort counts against a budget of their own. */
export function* metered<T>(steps: Steps<T>, budget: Budget): Steps<T> {
  for (;;) {
    // A pause is between two rows, and the time of others is not the time of a row.
    budget.endPiece();
    const step = underMeter(budget, () => steps.next());
    if (step.done === true) return step.value;
    yield;
  }
}
