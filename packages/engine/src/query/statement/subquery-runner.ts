/**
 * SubqueryRunner: runs the subqueries of one statement when an expression first needs them.
 *
 * An uncorrelated subquery runs once for the statement, a correlated one once for each row. An
 * expression cannot pause, but a subquery must be able to. A subquery that takes too long leaves
 * the expression by an exception and finishes in steps. Then the row is evaluated again. Answers of
 * the row's earlier subqueries are kept in order, so they do not run again.
 */

import type { Value } from "@bigpeer/protocol";
import type { Found } from "../frame/document-view.ts";
import type { Frame, RowWarnings, Subqueries } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { type RowDocument, rowDocument } from "../frame/whole-document.ts";
import type { QueryPlan } from "../plan/plan.ts";
import type { Execution } from "../run/execution.ts";
import { Warnings } from "../run/warnings.ts";
import type { BoundQuery } from "../syntax/tree.ts";
import { type Members, membersOf } from "../value/members.ts";
import { compileQuery, type RunQuery } from "./select.ts";

/** Work that a subquery may do before it continues in steps. */
const WORK_AT_ONCE = 4096;

/** Compiled subqueries; a plan lives as long as its prepared statement. */
const compiled = new WeakMap<BoundQuery, RunQuery>();

function runnerOf(query: BoundQuery): RunQuery {
  let run = compiled.get(query);
  if (run === undefined) {
    // A bound query is always a plan; the type of the tree cannot express it.
    run = compileQuery(query as QueryPlan);
    compiled.set(query, run);
  }
  return run;
}

/** A subquery in progress. */
interface Begun {
  readonly query: BoundQuery;
  readonly steps: Steps<Value[]>;
  readonly warnings: Warnings;
  /** Memory that the statement had taken, and that answers had kept, when it began. */
  readonly takenBefore: number;
  readonly keptBefore: number;
}

interface Answer {
  readonly query: BoundQuery;
  readonly rows: readonly Value[];
}

/** The answers for one row, and the position of the next one in this evaluation. */
interface Replay {
  readonly answers: Answer[];
  next: number;
}

/** Thrown out of an expression whose subquery must continue in steps. */
class Suspension extends Error {
  readonly begun: Begun;

  constructor(begun: Begun) {
    super("a query goes on in pauses");
    this.begun = begun;
  }
}

class SubqueryRunner implements Subqueries {
  /** Set right after construction: each object needs the other. */
  execution: Execution | undefined;
  /** Warnings of all finished subqueries. */
  readonly warnings: Warnings = new Warnings();
  /** Answers of uncorrelated subqueries. */
  readonly #answers = new Map<BoundQuery, readonly Value[]>();
  readonly #members = new Map<BoundQuery, Members>();
  /** Memory that answers keep for the whole statement. */
  #kept = 0;
  /** Undefined where the caller does not retry: there a subquery runs to its end. */
  #replay: Replay | undefined;

  exists(query: BoundQuery, frame: Frame): boolean {
    return this.#rows(query, frame, 1).length > 0;
  }

  members(query: BoundQuery, frame: Frame): Members {
    const known = this.#members.get(query);
    if (known !== undefined) return known;
    const rows = this.#rows(query, frame, Infinity);
    const values = isRaw(query) ? rows : rows.map(onlyValue);
    if (query.imports.length > 0) return { values };
    const { budget } = frame.run;
    const before = budget.taken;
    const members = membersOf(values, (bytes) => budget.take(bytes));
    this.#kept += budget.taken - before;
    this.#members.set(query, members);
    return members;
  }

  *documents(query: BoundQuery): Found<RowDocument> {
    const warnings = new Warnings();
    const steps = runnerOf(query)({ ...this.#own(), warnings });
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) yield undefined;
    this.warnings.absorb(warnings);
    for (const row of step.value) yield rowDocument(row);
  }

  *attempt<T>(work: () => T, warnings: RowWarnings): Generator<void, T, void> {
    const answers: Answer[] = [];
    const mark = warnings.mark();
    for (;;) {
      const outcome = this.#try(work, answers);
      if (!(outcome instanceof Suspension)) return outcome.result;
      warnings.rewind(mark);
      const { begun } = outcome;
      const rows = yield* begun.steps;
      this.#settle(begun, rows);
      if (begun.query.imports.length > 0) answers.push({ query: begun.query, rows });
      this.#own().run.budget.startPiece();
    }
  }

  #try<T>(work: () => T, answers: Answer[]): { readonly result: T } | Suspension {
    const before = this.#replay;
    this.#replay = { answers, next: 0 };
    try {
      return { result: work() };
    } catch (error) {
      if (error instanceof Suspension) return error;
      throw error;
    } finally {
      this.#replay = before;
    }
  }

  #rows(query: BoundQuery, frame: Frame, rowsMax: number): readonly Value[] {
    const known = this.#answers.get(query) ?? this.#replayed(query);
    if (known !== undefined) return known;
    const replay = this.#replay;
    const begun = this.#begin(query, frame, rowsMax);
    const rows = this.#runAtOnce(begun);
    if (rows === undefined) throw new Suspension(begun);
    this.#settle(begun, rows);
    if (query.imports.length > 0 && replay !== undefined) {
      replay.answers.push({ query, rows });
      replay.next++;
    }
    return rows;
  }

  /** The answer that an earlier evaluation of the row got at this point. */
  #replayed(query: BoundQuery): readonly Value[] | undefined {
    const replay = this.#replay;
    if (replay === undefined || query.imports.length === 0) return undefined;
    const answer = replay.answers[replay.next];
    if (answer?.query === query) {
      replay.next++;
      return answer.rows;
    }
    // A random function may have taken another branch: answers of the first branch do not apply.
    replay.answers.length = replay.next;
    return undefined;
  }

  #own(): Execution {
    if (this.execution === undefined) throw new Error("a host without an execution");
    return this.execution;
  }

  #begin(query: BoundQuery, around: Frame, rowsMax: number): Begun {
    const warnings = new Warnings();
    const execution = { ...this.#own(), warnings };
    const steps = runnerOf(query)(execution, { around, rowsMax });
    const { taken } = around.run.budget;
    return { query, steps, warnings, takenBefore: taken, keptBefore: this.#kept };
  }

  /** Runs a subquery; undefined if it takes longer and the caller can continue it in steps. */
  #runAtOnce({ steps }: Begun): readonly Value[] | undefined {
    const { budget } = this.#own().run;
    const replay = this.#replay;
    const end = replay === undefined ? Infinity : budget.work + WORK_AT_ONCE;
    const held = budget.hold();
    this.#replay = undefined;
    try {
      let step = steps.next();
      while (step.done !== true && budget.work < end) step = steps.next();
      return step.done === true ? step.value : undefined;
    } finally {
      this.#replay = replay;
      budget.resume(held);
      // No caller could pause for it: the time limit of the row starts again.
      if (replay === undefined && held.endMs !== Infinity) budget.startPiece();
    }
  }

  /** Records an answer. Its memory stays charged while it is needed, by the statement or a row. */
  #settle({ query, warnings, takenBefore, keptBefore }: Begun, rows: readonly Value[]): void {
    this.warnings.absorb(warnings);
    const { budget } = this.#own().run;
    const taken = budget.taken - takenBefore - (this.#kept - keptBefore);
    if (query.imports.length === 0) {
      this.#kept += taken;
      this.#answers.set(query, rows);
    } else {
      budget.give(taken);
      budget.borrow(taken);
    }
  }
}

function isRaw(query: BoundQuery): boolean {
  const plan = query as QueryPlan;
  return plan.kind === "select" ? plan.output.isRaw : plan.arms[0]?.output.isRaw === true;
}

/** Value of a row with one column; null if it is MISSING, as in an array. */
function onlyValue(row: Value): Value {
  return Object.values(row as object)[0] ?? null;
}

/** Execution of a statement with subqueries. `finish` passes on their warnings. */
export function hostSubqueries(execution: Execution): {
  readonly hosted: Execution;
  readonly finish: () => void;
} {
  const host = new SubqueryRunner();
  const hosted = { ...execution, run: { ...execution.run, subqueries: host } };
  host.execution = hosted;
  return { hosted, finish: () => execution.warnings.absorb(host.warnings) };
}
