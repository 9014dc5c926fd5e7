/**
 * LiveRuns: creates the execution contexts for evaluating live queries on one state of a store.
 */

import type { ValueObject } from "@bigpeer/protocol";
import type { Platform } from "../../platform.ts";
import type { View } from "../../store/view.ts";
import { Budget } from "../frame/budget.ts";
import type { Run } from "../frame/frame.ts";
import type { IndexReads, IndexUses } from "../frame/index-uses.ts";
import type { MemoryPool } from "../frame/memory-pool.ts";
import type { Steps } from "../frame/steps.ts";
import type { Authority } from "../permission/authority.ts";
import type { Execution } from "../run/execution.ts";
import { Warnings } from "../run/warnings.ts";
import { Requests } from "../system/requests.ts";
import { Settings } from "../system/settings.ts";
import type { SystemContext } from "../system/system-collections.ts";
import { underMeter } from "../value/cost-meter.ts";

/** The input that a query was registered with. */
export interface LiveInput {
  readonly text: string;
  readonly args: ValueObject;
  readonly authority: Authority | undefined;
  readonly isStrict: boolean;
}

export interface LiveRunsOptions {
  readonly platform: Platform;
  readonly appId: string;
  /** Time that one run may take, and memory that it may use. */
  readonly timeMs: number;
  readonly bytes: number;
  /** Memory shared by all statements of the process; undefined if it is not limited. */
  readonly memory: MemoryPool | undefined;
  /** Counts the indexes that runs of whole statements read. */
  readonly indexUses?: IndexUses | undefined;
}

export class LiveRuns {
  readonly #options: LiveRunsOptions;
  readonly #elapsed: () => number;
  /** For work on single rows, which each commit does: a budget would cost as much as a row. */
  readonly #rowBudget: Budget;
  /** Only for completeness: no live query reads a system collection. */
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

  /** For work without an end; each query in it has a budget of its own. */
  endlessBudget(): Budget {
    return new Budget({ elapsed: this.#elapsed, timeMsMax: Infinity, bytesMax: Infinity });
  }

  /** A run of the whole statement. The caller must end its budget. */
  begin(whole: View, input: LiveInput): Execution {
    const { platform, timeMs, bytes, memory, indexUses } = this.#options;
    const limits = { timeMsMax: timeMs, bytesMax: bytes, pool: memory };
    const budget = new Budget({ elapsed: this.#elapsed, ...limits });
    return this.#execution(whole, input, budget, indexUses?.begin(platform.now()));
  }

  /** Work on single rows, without pauses. */
  beginRows(whole: View, input: LiveInput): Execution {
    this.#rowBudget.release();
    return this.#execution(whole, input, this.#rowBudget);
  }

  #execution(whole: View, input: LiveInput, budget: Budget, indexReads?: IndexReads): Execution {
    const { text, args, authority, isStrict } = input;
    const { platform, appId } = this.#options;
    const request = { id: "", appId, startMs: 0, indexReads };
    const run: Run = { args, platform, budget, request };
    const isNarrowed = authority !== undefined && !authority.isReadingAll;
    const checker = isNarrowed ? authority.checker(run) : undefined;
    const view = checker?.narrow(whole) ?? whole;
    const system = { view, ...this.#system };
    const warnings = new Warnings();
    return { run, text, isStrict, view, checker, transaction: undefined, warnings, system };
  }
}

/** The same steps, whose cost counts against a budget of their own. */
export function* metered<T>(steps: Steps<T>, budget: Budget): Steps<T> {
  for (;;) {
    // A pause is between two rows: the time of other work does not count as time of a row.
    budget.endPiece();
    const step = underMeter(budget, () => steps.next());
    if (step.done === true) return step.value;
    yield;
  }
}
