/**
 * INSERT, UPDATE, DELETE, EVICT, TOMBSTONE: bound and compiled. What they do with the documents that
 * were chosen is in mutate/.
 */

import type { Value } from "@bigpeer/protocol";
import type { StoredDocument } from "../../store/view.ts";
import { compile } from "../compile/expression.ts";
import { evaluationFault, Fault } from "../fault.ts";
import { insertDocuments } from "../mutate/insert.ts";
import { removeDocuments } from "../mutate/remove.ts";
import { updateDocuments } from "../mutate/update.ts";
import { bindOutput } from "../plan/output.ts";
import type { RowsPlan, SourcePlan } from "../plan/plan.ts";
import { bindExpression, constantScope, type Scope, type ScopeTerm, Slots } from "../plan/scope.ts";
import { compileChoice } from "../run/choice.ts";
import type { Execution, MutationOutcome } from "../run/execution.ts";
import { finish } from "../run/rows.ts";
import type { Evaluate, Frame } from "../run/run.ts";
import type {
  Expression,
  InsertStatement,
  OrderTerm,
  Projection,
  RemoveStatement,
  UpdateStatement,
} from "../syntax/tree.ts";
import { resolveCollection } from "../system/system-collections.ts";
import type { Outcome } from "../value/datum.ts";
import {
  compileCollector,
  compileSelect,
  newSlots,
  planSelect,
  type SelectPlan,
  WHOLE,
} from "./select.ts";

export interface MutationResult {
  readonly items: readonly Value[];
  readonly ids: readonly Value[];
}

/** Runs inside a transaction, from beginning to end without a pause. */
export type RunMutation = (execution: Execution) => MutationResult;

export interface CompiledInsert {
  readonly run: RunMutation;
  /** Where the documents come from, when it is a SELECT. */
  readonly select: SelectPlan | undefined;
}

export function compileInsert(statement: InsertStatement, joinsMax: number): CompiledInsert {
  const { into, isInitial, conflict, at } = statement;
  const resolved = resolveCollection(into, "write");
  const collection = resolved.kind === "stored" ? resolved.name : "";
  const { rows, select } = compileInsertSource(statement, joinsMax);
  const returning = compileReturning(statement.returning, into.name);
  const run: RunMutation = (execution) => {
    const typing = { isStrict: execution.isStrict, types: into.types };
    const plan = { collection, typing, isInitial, conflict, at };
    const isReturning = statement.returning !== undefined;
    const outcome = insertDocuments({ ...plan, isReturning }, rows(execution), execution);
    return resultOf(outcome, returning, execution);
  };
  return { run, select };
}

interface InsertSource {
  readonly rows: (execution: Execution) => readonly Outcome[];
  readonly select: SelectPlan | undefined;
}

function compileInsertSource({ source }: InsertStatement, joinsMax: number): InsertSource {
  if ("kind" in source) {
    const select = planSelect(source, joinsMax);
    const run = compileSelect(select);
    return { select, rows: (execution) => finish(run(execution)) };
  }
  const slots = new Slots();
  const documents = source.map((each) => compile(bindExpression(each, constantScope(slots))));
  const rows = ({ run }: Execution): Outcome[] => {
    const frame: Frame = { run, slots: newSlots(slots.count) };
    return documents.map((document) => document(frame));
  };
  return { select: undefined, rows };
}

export interface CompiledMutation {
  readonly run: RunMutation;
  readonly rows: RowsPlan;
  readonly order: readonly OrderTerm[];
}

export function compileUpdate(statement: UpdateStatement): CompiledMutation {
  const chosen = compileChoice(statement, "write");
  const { scope, source } = chosen;
  const bind = (value: Expression): Evaluate => compile(bindValue(value, scope));
  const apply = statement.apply.map(({ path, method, value, at }) =>
    value === undefined ? { path, method, at } : { path, method, at, value: bind(value) },
  );
  const set = statement.set.map(({ path, value, at }) => ({ path, at, value: bind(value) }));
  const collection = source.collection.kind === "stored" ? source.collection.name : "";
  const returning = compileReturning(statement.returning, source.alias);
  const run: RunMutation = (execution) => {
    const typing = { isStrict: execution.isStrict, types: source.types };
    const edits = { apply, set, unset: statement.unset };
    const isReturning = statement.returning !== undefined;
    const plan = { collection, slot: source.slot, typing, ...edits, isReturning };
    return resultOf(
      updateDocuments(plan, finish(chosen.rows(execution)), execution),
      returning,
      execution,
    );
  };
  return { run, rows: chosen.plan, order: chosen.order };
}

/** What is wrong with a value to be written is wrong with the writing. */
function bindValue(value: Expression, scope: Scope): Expression {
  try {
    return bindExpression(value, scope);
  } catch (error) {
    throw error instanceof Fault ? evaluationFault(error.message, error.offset) : error;
  }
}

export function compileRemove(statement: RemoveStatement): CompiledMutation {
  const purpose = statement.method === "delete" ? "delete" : "write";
  const chosen = compileChoice(statement, purpose);
  const { source } = chosen;
  const { collection, slot } = source;
  const returning = compileReturning(statement.returning, source.alias);
  const { method } = statement;
  const run: RunMutation = (execution) => {
    const rows = finish(chosen.rows(execution));
    const outcome =
      collection.kind === "stored"
        ? removeDocuments({ collection: collection.name, slot, method }, rows, execution)
        : removeSystemRows(source, rows, execution);
    return resultOf(outcome, returning, execution);
  };
  return { run, rows: chosen.plan, order: chosen.order };
}

function removeSystemRows(
  { collection, slot }: SourcePlan,
  rows: readonly Frame[],
  { system }: Execution,
): MutationOutcome {
  const documents = rows.map(({ slots }) => slots[slot] as StoredDocument);
  if (collection.kind !== "system") return { ids: [], documents: [] };
  const ids = collection.collection.remove?.(
    system,
    documents.map(({ id }) => id),
  );
  return { ids: ids ?? [], documents };
}

type Returning = (documents: readonly StoredDocument[], execution: Execution) => readonly Value[];

function compileReturning(
  projections: readonly Projection[] | undefined,
  alias: string,
): Returning | undefined {
  if (projections === undefined) return undefined;
  const slots = new Slots();
  const terms: ScopeTerm[] = [{ alias, slot: slots.take() }];
  const output = bindOutput({ projections }, { slots, terms, variables: [] });
  const collect = compileCollector(output, terms, false);
  return (documents, execution) => {
    const { sink, items } = collect(execution, WHOLE);
    const frame: Frame = { run: execution.run, slots: newSlots(slots.count) };
    for (const document of documents) {
      frame.slots[0] = document;
      sink.row(frame);
    }
    sink.end();
    return items;
  };
}

function resultOf(
  { ids, documents }: MutationOutcome,
  returning: Returning | undefined,
  execution: Execution,
): MutationResult {
  return { ids, items: returning?.(documents, execution) ?? [] };
}
