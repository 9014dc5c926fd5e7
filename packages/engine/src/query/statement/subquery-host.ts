/**
 * SubqueryHost: runs the queries inside of one statement.
 *
 * They run when an expression first needs them: one that reads nothing of the rows around it once
 * for the statement, the others once for each row. An expression cannot pause, a query must be able
 * to: one that is not done after some work leaves the expression by an exception, is gone on with in
 * pauses by whoever evaluates the row, and then the row is evaluated again. The queries that were
 * done for it before are not run again: their answers are kept in the order in which they came.
 */

import type { Value } from "@bigpeer/protocol";
import type { Found } from "../frame/document-view.ts";
import type { Frame, RowWarnings, Subqueries } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { type RowDocument, rowDocument } from "../frame/whole-document.ts";
import type { QueryPlan } from "../plan/plan.ts";
import { type Execution, Warnings } from "../run/execution.ts";
import type { BoundQuery } from "../syntax/tree.ts";
import { type Members, membersOf } from "../value/members.ts";
import { compileQuery, type RunQuery } from "./select.ts";

/** Work that a query may do before it goes on in pauses. */
const WORK_AT_ONCE = 4096;

/** What was compiled before; a plan lives as long as its statement is kept ready. */
const compiled = new WeakMap<BoundQuery, RunQuery>();

function runnerOf(query: BoundQuery): RunQuery {
  let run = compiled.get(query);
  if (run === undefined) {
    // A bound query is always a plan: the tree only cannot say so.
    run = compileQuery(query as QueryPlan);
    compiled.set(query, run);
  }
  return run;
}

/** A query that has begun. */
interface Begun {
  readonly query: BoundQuery;
  readonly steps: Steps<Value[]>;
  readonly warnings: Warnings;
  /** What the statement had taken, and what answers had kept, when it began. */
  readonly takenBefore: number;
  readonly keptBefore: number;
}

interface Answer {
  readonly query: BoundQuery;
  readonly rows: readonly Value[];
}

/** The answers for one row, and how many of them this evaluation has asked for. */
interface Replay {
  readonly answers: Answer[];
  next: number;
}

/** Leaves an expression because a query in it must go on in pauses. */
class Suspension extends Error {
  readonly begun: Begun;

  constructor(begun: Begun) {
    super("a query goes on in pauses");
    this.begun = begun;
  }
}

class SubqueryHost implements Subqueries {
  /** Set right after it is made: each needs the other. */
  execution: Execution | undefined;
  /** Of all queries that are done. */
  readonly warnings: Warnings = new Warnings();
  /** Of queries that read nothing of the rows around them. */
  readonly #answers = new Map<BoundQuery, readonly Value[]>();
  readonly #members = new Map<BoundQuery, Members>();
  /** Memory of what is kept for the whole statement. */
  #kept = 0;
  /** Undefined where nobody would try again: there a query runs to its end. */
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

  /** The answer that an earlier evaluation of the row had at this point. */
  #replayed(query: BoundQuery): readonly Value[] | undefined {
    const replay = this.#replay;
    if (replay === undefined || query.imports.length === 0) return undefined;
    const answer = replay.answers[replay.next];
    if (answer?.query === query) {
      replay.next++;
      return answer.rows;
    }
    // Chance may have led elsewhere: what was found on another way is no answer here.
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

  /** Undefined when it takes longer and somebody is there to go on with it. */
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
      // Nobody could pause for it, however long it was: the row begins anew.
      if (replay === undefined && held.endMs !== Infinity) budget.startPiece();
    }
  }

  /** What a query took stays counted as long as its answer is needed: for the statement, or for a row. */
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

/** Of a row of one column; where it is MISSING, null, as in an array. */
function onlyValue(row: Value): Value {
  return Object.values(row as object)[0] ?? null;
}

/** The same execution, for a statement that holds queries. `finish` hands on their warnings. */
export function hostSubqueries(execution: Execution): {
  readonly hosted: Execution;
  readonly finish: () => void;
} {
  const host = new SubqueryHost();
  const hosted = { ...execution, run: { ...execution.run, subqueries: host } };
  host.execution = hosted;
  return { hosted, finish: () => execution.warnings.absorb(host.warnings) };
}
