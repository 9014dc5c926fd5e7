/**
 * Prepare: from the text of a statement to something that runs.
 *
 * Parsed, bound, planned and compiled once; nothing in it depends on arguments, settings or data, so
 * it may be kept and run again.
 */

import {
  isObject,
  PeerError,
  parseJson,
  unreachable,
  type Value,
  type ValueObject,
} from "@bigpeer/protocol";
import { compile } from "../compile/expression.ts";
import { semanticFault } from "../fault.ts";
import { explainOrder, explainRows, explainSelect, explainSequence } from "../plan/explain.ts";
import { parametersOf } from "../plan/parameters.ts";
import { JOINS_MAX } from "../plan/plan.ts";
import { bindExpression, constantScope, Slots } from "../plan/scope.ts";
import type { Execution } from "../run/execution.ts";
import type { Frame } from "../run/run.ts";
import { parseStatement } from "../syntax/parse-statement.ts";
import { printStatement } from "../syntax/print.ts";
import type {
  AlterSystemStatement,
  ExecuteFunctionStatement,
  ExplainStatement,
  Expression,
  InsertStatement,
  ParameterNode,
  ProfileStatement,
  SelectStatement,
  Statement,
} from "../syntax/tree.ts";
import { runAlterSystem, runShow } from "../system/show-settings.ts";
import { Failure, MISSING, toValue } from "../value/datum.ts";
import { compileCreateIndex, compileDropIndex } from "./definition.ts";
import {
  type CompiledMutation,
  compileInsert,
  compileRemove,
  compileUpdate,
  type MutationResult,
  type RunMutation,
} from "./mutation.ts";
import { compileSelect, newSlots, planSelect } from "./select.ts";

export type QueryType = "select" | "mutation";

/** Reads pause now and then; writes run inside a transaction, from beginning to end. */
export type Work<T = MutationResult> =
  | { readonly kind: "read"; readonly run: (execution: Execution) => Generator<void, T, void> }
  | { readonly kind: "write"; readonly run: (execution: Execution) => T };

type RunRead = Extract<Work, { kind: "read" }>["run"];

export interface Prepared {
  readonly queryType: QueryType;
  readonly work: Work;
  /** What EXPLAIN shows; undefined for statements that have no plan. */
  readonly plan: (() => ValueObject) | undefined;
}

export interface PreparedStatement extends Prepared {
  readonly text: string;
  readonly kind: Statement["kind"];
  /** Those that must be given. */
  readonly parameters: readonly ParameterNode[];
  /** Milliseconds that each stage took. */
  readonly times: PrepareTimes;
}

export interface PrepareTimes {
  readonly parse: number;
  readonly plan: number;
}

/** Throws a Fault; `elapsed` is a clock that never goes back. */
export function prepareStatement(text: string, elapsed: () => number): PreparedStatement {
  const start = elapsed();
  const { statement, directives } = parseStatement(text);
  const parsed = elapsed();
  const options: Options = { joinsMax: joinsMaxOf(directives), elapsed };
  const prepared = prepare(statement, options);
  const parameters = parametersOf(statement);
  const times = { parse: parsed - start, plan: elapsed() - parsed };
  return { ...prepared, text, kind: statement.kind, parameters, times };
}

interface Options {
  readonly joinsMax: number;
  readonly elapsed: () => number;
}

/** Directives that are not known are for other engines; those that are known must make sense. */
function joinsMaxOf(directives: readonly string[]): number {
  let joinsMax = JOINS_MAX;
  for (const text of directives) {
    const given = parseDirective(text)["#max_joins"];
    if (given === undefined) continue;
    if (typeof given !== "number" || !Number.isSafeInteger(given) || given < 0) {
      throw semanticFault("the directive #max_joins expects a whole number");
    }
    joinsMax = Math.min(given, JOINS_LIMIT);
  }
  return joinsMax;
}

/** More joined terms than this no directive allows. */
const JOINS_LIMIT = 64;

function parseDirective(text: string): ValueObject {
  try {
    const directive = parseJson(text);
    if (isObject(directive)) return directive;
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
  }
  throw semanticFault("expected a JSON object as directive");
}

function prepare(statement: Statement, options: Options): Prepared {
  switch (statement.kind) {
    case "select":
      return prepareSelect(statement, options);
    case "insert":
      return prepareInsert(statement, options);
    case "update":
      return mutation(compileUpdate(statement), "update");
    case "remove":
      return mutation(compileRemove(statement), statement.method);
    case "create_index":
      return definition(compileCreateIndex(statement), "createIndex", statement.name);
    case "drop_index":
      return definition(compileDropIndex(statement), "dropIndex", statement.name);
    case "explain":
      return prepareExplain(statement, options);
    case "profile":
      return prepareProfile(statement, options);
    case "advise":
      return prepareAdvise(statement.statement, options);
    case "execute_function":
      return prepareCall(statement);
    case "show":
      return select(({ system }) => [...runShow(statement, system.settings)]);
    case "alter_system":
      return prepareAlterSystem(statement);
    case "sync_context":
      throw semanticFault("SYNC CONTEXT runs on peers: send it to remote_execute", statement.at);
    default:
      return unreachable(statement);
  }
}

function select(rows: (execution: Execution) => Value[], plan?: () => ValueObject): Prepared {
  // oxlint-disable-next-line require-yield -- nothing here takes long
  const run: RunRead = function* run(execution) {
    return { items: rows(execution), ids: [] };
  };
  return { queryType: "select", work: { kind: "read", run }, plan };
}

function prepareSelect(statement: SelectStatement, { joinsMax }: Options): Prepared {
  const plan = planSelect(statement, joinsMax);
  const rows = compileSelect(plan);
  const run: RunRead = function* run(execution) {
    return { items: yield* rows(execution), ids: [] };
  };
  return {
    queryType: "select",
    work: { kind: "read", run },
    plan: () => explainSequence(explainSelect(plan)),
  };
}

function prepareInsert(statement: InsertStatement, { joinsMax }: Options): Prepared {
  const { run, select: source } = compileInsert(statement, joinsMax);
  const steps = (): ValueObject[] => (source === undefined ? [] : explainSelect(source));
  const last = { "#operator": "insert", collection: statement.into.name };
  return {
    queryType: "mutation",
    work: { kind: "write", run },
    plan: () => explainSequence([...steps(), { ...last, onConflict: statement.conflict }]),
  };
}

function mutation(compiled: CompiledMutation, operator: string): Prepared {
  const { rows, order } = compiled;
  const plan = (): ValueObject => {
    const steps = explainRows(rows);
    if (order.length > 0) steps.push(explainOrder(order));
    return explainSequence([...steps, { "#operator": operator }]);
  };
  return { queryType: "mutation", work: workOf(compiled), plan };
}

/** What is in no store needs no transaction, and must not be done again with one. */
function workOf({ run, rows }: CompiledMutation): Work {
  if (rows.source.collection.kind === "stored") return { kind: "write", run };
  // oxlint-disable-next-line require-yield -- system collections are small
  const once: RunRead = function* once(execution) {
    return run(execution);
  };
  return { kind: "read", run: once };
}

function definition(run: RunMutation, operator: string, name: string): Prepared {
  const plan = (): ValueObject => explainSequence([{ "#operator": operator, name }]);
  return { queryType: "mutation", work: { kind: "write", run }, plan };
}

function prepareExplain({ statement, at }: ExplainStatement, options: Options): Prepared {
  const { plan } = prepare(statement, options);
  if (plan === undefined) throw semanticFault(`there is no plan for ${statement.kind}`, at);
  const row = (): Value[] => [{ plan: plan() }];
  return select(row, undefined);
}

/** Runs the statement; the rows are followed by one about the run. */
function prepareProfile({ statement }: ProfileStatement, options: Options): Prepared {
  const start = options.elapsed();
  const prepared = prepare(statement, options);
  const planMs = options.elapsed() - start;
  const { queryType, work, plan } = prepared;
  const profile = (resultCount: number, elapsedMs: number): Value => ({
    "~request_profile": {
      ...(plan && { plan: plan() }),
      queryType,
      resultCount,
      state: "completed",
      times: { elapsed: nanoseconds(elapsedMs), plan: nanoseconds(planMs) },
    },
  });
  if (work.kind === "write") {
    const run: RunMutation = (execution) => {
      const begin = options.elapsed();
      const { items, ids } = work.run(execution);
      const count = ids.length;
      return { ids, items: [...items, profile(count, options.elapsed() - begin)] };
    };
    return { ...prepared, work: { kind: "write", run } };
  }
  const run: RunRead = function* run(execution) {
    const begin = options.elapsed();
    const { items, ids } = yield* work.run(execution);
    return { ids, items: [...items, profile(items.length, options.elapsed() - begin)] };
  };
  return { ...prepared, work: { kind: "read", run } };
}

function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1_000_000);
}

function prepareAdvise(statement: Statement, options: Options): Prepared {
  const { kind, at } = statement;
  if (kind === "explain" || kind === "profile" || kind === "advise") {
    throw semanticFault(`ADVISE expects a statement that runs, found ${kind}`, at);
  }
  prepare(statement, options);
  const advice = {
    statement: printStatement(statement),
    outcome: "no advice available for statement",
  };
  return select(() => [{ advice }]);
}

function prepareCall({ call }: ExecuteFunctionStatement): Prepared {
  const evaluate = compileConstant(call);
  return select((execution) => {
    const outcome = evaluate(execution);
    return [outcome === undefined ? {} : { result: outcome }];
  });
}

function prepareAlterSystem(statement: AlterSystemStatement): Prepared {
  const { value } = statement;
  const evaluate = value === undefined ? () => MISSING : compileConstant(value);
  const prepared = select((execution) => {
    return [...runAlterSystem(statement, evaluate(execution), execution.system.settings)];
  });
  return { ...prepared, queryType: "mutation" };
}

/** An expression without documents; a failure counts as MISSING. */
function compileConstant(node: Expression): (execution: Execution) => Value | undefined {
  const slots = new Slots();
  const evaluate = compile(bindExpression(node, constantScope(slots)));
  return ({ run }) => {
    const frame: Frame = { run, slots: newSlots(slots.count) };
    const outcome = evaluate(frame);
    return outcome === MISSING || outcome instanceof Failure ? MISSING : toValue(outcome);
  };
}
