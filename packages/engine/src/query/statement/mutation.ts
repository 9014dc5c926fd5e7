/**
 * Compiles INSERT, UPDATE, DELETE, EVICT and TOMBSTONE: binds expressions, selects documents,
 * evaluates RETURNING. The modules of mutate/ write the selected documents.
 */

import { assert, type Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { compile } from "../compile/expression.ts";
import { evaluationFault, Fault } from "../fault.ts";
import { type Evaluate, type Frame, newFrame } from "../frame/frame.ts";
import type { Steps } from "../frame/steps.ts";
import { insertDocuments } from "../mutate/insert.ts";
import { removeDocuments } from "../mutate/remove.ts";
import { type UpdatePlan, updateDocuments } from "../mutate/update.ts";
import { storedName } from "../plan/collection.ts";
import { bindOutput } from "../plan/output.ts";
import type { QueryPlan } from "../plan/plan.ts";
import { bindExpression, constantScope, type Scope, type ScopeTerm, Slots } from "../plan/scope.ts";
import { planQuery, queryOptions } from "../plan/select-plan.ts";
import { attempted } from "../run/attempt.ts";
import type { Execution, MutationOutcome } from "../run/execution.ts";
import { readsOfAll } from "../syntax/statement-walk.ts";
import type {
  Expression,
  InsertStatement,
  Projection,
  RemoveStatement,
  UpdateStatement,
} from "../syntax/tree.ts";
import type { SystemCollection } from "../system/system-collections.ts";
import type { Outcome } from "../value/datum.ts";
import { type Choice, compileChoiceInSteps } from "./choice.ts";
import { compileCollector, compileQuery, WHOLE } from "./select.ts";
import type { RunWork, StatementOutput, Work } from "./work.ts";

export interface CompiledInsert {
  readonly work: Work;
  /** Plan of the source, if it is a SELECT. */
  readonly select: QueryPlan | undefined;
}

export function* compileInsert(
  statement: InsertStatement,
  joinsMax: number,
): Steps<CompiledInsert> {
  const { into, isInitial, conflict, source } = statement;
  // Errors in a document get the position of the first document.
  const at = (source.kind === "documents" ? source.documents[0]?.at : source.at) ?? statement.at;
  const collection = storedName(into);
  const { rows, select } = yield* compileInsertSource(statement, joinsMax);
  const returning = compileReturning(statement.returning, into.name);
  const isReturning = returning !== undefined;
  const run: RunWork = function* run(execution) {
    const typing = { isStrict: execution.isStrict, types: into.types };
    const plan = { collection, typing, isInitial, conflict, isReturning, at };
    const given = yield* rows(execution);
    const outcome = yield* insertDocuments(plan, given, execution);
    return yield* resultOf(outcome, returning, execution);
  };
  const choose = select === undefined ? undefined : rows;
  return { work: { kind: "write", run, choose }, select };
}

interface InsertSource {
  readonly rows: (execution: Execution) => Steps<readonly Outcome[]>;
  readonly select: QueryPlan | undefined;
}

function* compileInsertSource({ source }: InsertStatement, joinsMax: number): Steps<InsertSource> {
  if (source.kind !== "documents") {
    const select = planQuery(source, joinsMax);
    yield;
    const run = compileQuery(select);
    const early = { reads: readsOfAll([source]), each: undefined, choose: run };
    const rows: InsertSource["rows"] = (execution) =>
      execution.choices?.take<Outcome>(early, execution) ?? run(execution);
    return { select, rows };
  }
  const slots = new Slots();
  const scope: Scope = { ...constantScope(slots), ...queryOptions(joinsMax) };
  const documents: Evaluate[] = [];
  for (const document of source.documents) {
    documents.push(compile(bindExpression(document, scope)));
    yield;
  }
  const rows = function* rows({ run, warnings }: Execution): Steps<Outcome[]> {
    const frame = newFrame(run, slots.count);
    const outcomes: Outcome[] = [];
    for (const document of documents) {
      if (outcomes.length > 0) yield;
      run.budget.startPiece();
      outcomes.push(yield* attempted(() => document(frame), { run, warnings }));
    }
    run.budget.endPiece();
    return outcomes;
  };
  return { select: undefined, rows };
}

export interface CompiledMutation {
  readonly work: Work;
  /** Selection of the documents. */
  readonly choice: Choice;
}

export function* compileUpdate(statement: UpdateStatement): Steps<CompiledMutation> {
  const chosen = yield* compileChoiceInSteps(statement, { purpose: "write" });
  const { scope, source } = chosen;
  const bind = (value: Expression): Evaluate => compile(bindValue(value, scope));
  const apply = statement.apply.map(({ path, method, value, at }) =>
    value === undefined ? { path, method, at } : { path, method, at, value: bind(value) },
  );
  const set = statement.set.map(({ path, value, at }) => ({ path, at, value: bind(value) }));
  const collection = storedName(statement.term.collection);
  const returning = compileReturning(statement.returning, source.alias);
  const planOf = (isStrict: boolean): UpdatePlan => ({
    collection,
    slot: source.slot,
    typing: { isStrict, types: source.types },
    apply,
    set,
    unset: statement.unset,
    isReturning: statement.returning !== undefined,
  });
  const [strict, plain] = [planOf(true), planOf(false)];
  const run: RunWork = function* run(execution) {
    const rows = yield* chosen.rows(execution);
    const outcome = yield* updateDocuments(execution.isStrict ? strict : plain, rows, execution);
    return yield* resultOf(outcome, returning, execution);
  };
  return { work: { kind: "write", run, choose: chosen.rows }, choice: chosen };
}

/** Binds a value to write. Its errors count as evaluation errors of the write. */
function bindValue(value: Expression, scope: Scope): Expression {
  try {
    return bindExpression(value, scope);
  } catch (error) {
    throw error instanceof Fault ? evaluationFault(error.message, error.offset) : error;
  }
}

export function* compileRemove(statement: RemoveStatement): Steps<CompiledMutation> {
  const purpose = statement.method === "delete" ? "delete" : "write";
  const chosen = yield* compileChoiceInSteps(statement, {
    purpose,
    isIdsOnly: statement.returning === undefined,
  });
  const { source } = chosen;
  const { collection, slot } = source;
  const returning = compileReturning(statement.returning, source.alias);
  if (collection.kind === "system") {
    // System rows need no transaction, and a retry of one must not remove them again.
    const run: RunWork = function* run(execution) {
      const rows = yield* chosen.rows(execution);
      const outcome = removeSystemRows(collection.collection, documentsAt(rows, slot), execution);
      return yield* resultOf(outcome, returning, execution);
    };
    return { work: { kind: "read", run }, choice: chosen };
  }
  assert(collection.kind === "stored", "a collection to remove from");
  const plan = { collection: collection.name, slot, method: statement.method };
  const run: RunWork = function* run(execution) {
    const rows = yield* chosen.rows(execution);
    const outcome = yield* removeDocuments(plan, rows, execution);
    return yield* resultOf(outcome, returning, execution);
  };
  return { work: { kind: "write", run, choose: chosen.rows }, choice: chosen };
}

function documentsAt(rows: readonly Frame[], slot: number): StoredDocument[] {
  return rows.map(({ slots }) => slots[slot] as StoredDocument);
}

function removeSystemRows(
  { remove }: SystemCollection,
  documents: readonly StoredDocument[],
  { system }: Execution,
): MutationOutcome {
  const ids = documents.map(({ id }) => id);
  return { ids: remove?.(system, ids) ?? [], documents };
}

type Returning = (
  documents: readonly StoredDocument[],
  execution: Execution,
) => Steps<readonly Value[]>;

function compileReturning(
  projections: readonly Projection[] | undefined,
  alias: string,
): Returning | undefined {
  if (projections === undefined) return undefined;
  const slots = new Slots();
  const terms: ScopeTerm[] = [{ alias, slot: slots.take() }];
  const { bindQuery } = queryOptions();
  const output = bindOutput({ projections }, { slots, terms, variables: [], bindQuery });
  const collect = compileCollector(output, terms, false);
  return function* project(documents, execution) {
    const { sink, items } = collect(execution, WHOLE);
    const { budget } = execution.run;
    const frame = newFrame(execution.run, slots.count);
    for (const document of documents) {
      budget.startPiece();
      frame.slots[0] = document;
      yield* attempted(() => sink.row(frame), execution);
      yield;
    }
    budget.endPiece();
    yield* sink.end();
    return items;
  };
}

function* resultOf(
  { ids, documents }: MutationOutcome,
  returning: Returning | undefined,
  execution: Execution,
): Steps<StatementOutput> {
  return { ids, items: returning === undefined ? [] : yield* returning(documents, execution) };
}
